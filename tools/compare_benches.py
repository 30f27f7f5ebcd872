#!/usr/bin/env python3
"""Compares the benches of two builds in turn: is the new one slower?

    tools/compare_benches.py OLD NEW BENCH... [--filter WORDS] [--rounds 5] [--seconds 0.2] [--limit 5]

OLD and NEW are build folders (presets release or full), BENCH the names of programs of bench/ ("replay_bench"). Each
round runs both programs one after the other, the order changing, so that what else the machine does meets both. Of
every benchmark that both have, the least processor time of all rounds counts: other work only adds to it. Exit code 1
where one is slower by more than LIMIT percent. What only one of the two has is listed.
"""

import argparse
import json
import pathlib
import subprocess
import sys


def times_of(program, given):
    """Name of the benchmark -> processor time in ns."""
    words = [str(program), "--benchmark_format=json", f"--benchmark_min_time={given.seconds}"]
    if given.filter:
        words.append(f"--benchmark_filter={given.filter}")
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{program}: exit code {ran.returncode}\n{ran.stderr[-2000:]}")
    unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    found = json.loads(ran.stdout)["benchmarks"] if ran.stdout.strip() else []
    return {one["name"]: one["cpu_time"] * unit[one["time_unit"]] for one in found
            if one.get("run_type", "iteration") == "iteration" and not one.get("error_occurred")}


def least_times(programs, given):
    """Of both programs, benchmark by benchmark, over all rounds."""
    least = [{}, {}]
    for number in range(given.rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            for name, time in times_of(programs[which], given).items():
                least[which][name] = min(time, least[which].get(name, time))
    return least


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("old", type=pathlib.Path)
    options.add_argument("new", type=pathlib.Path)
    options.add_argument("bench", nargs="+")
    options.add_argument("--filter", help="benchmarks whose name matches, as Google Benchmark has it")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=0.2, help="at least so long for each benchmark and round")
    options.add_argument("--limit", type=float, default=5.0, help="percent that a benchmark may be slower")
    given = options.parse_args()
    slower = 0
    for bench in given.bench:
        old, new = least_times([build / "bench" / bench for build in (given.old, given.new)], given)
        for name, time in new.items():
            if name not in old:
                print(f"{'':>10} {time / 1e6:10.3f} ms          {bench}: {name} (new)", flush=True)
                continue
            ratio = time / old[name]
            is_slower = ratio > 1.0 + given.limit / 100.0
            slower += is_slower
            print(f"{old[name] / 1e6:10.3f} {time / 1e6:10.3f} ms {ratio:6.2f} {'SLOWER' if is_slower else '':7}"
                  f"{bench}: {name}", flush=True)
        for name in sorted(old.keys() - new.keys()):
            print(f"{old[name] / 1e6:10.3f} {'':>10} ms          {bench}: {name} (gone)", flush=True)
    print(f"{slower} slower by more than {given.limit:g} %")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
