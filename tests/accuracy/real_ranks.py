#!/usr/bin/python3
"""Profiles a small GPT on this machine, trains plans for one and two ranks, and compares each run with
its plan.

    real_ranks.py PENSTOCK FOLDER [--steps N] [--tolerance-percent X] [--keep-profile] [--sharded]

Nothing is fitted to the runs: the plans rest on profiles and links alone, as measured before. What
runs on one rank rests on a profile of a rank that was alone, the rest on one with a rank beside it.
The machine should do nothing else meanwhile. Files stay in FOLDER. Prints a table in Markdown; exit
code 1 when the median of the errors exceeds the tolerance.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

MODEL = ["gpt", "--layers", "6", "--hidden", "256", "--heads", "4", "--positions", "256"]
SIZES = ["--micro-batch-sizes", "1,2,4,8", "--sequence-length", "256"]
BATCH = 32
# What is pinned, and the schedule.
PLANS = (
    ("P=1,D=1,b=4", "1f1b"), ("P=1,D=1,b=8", "1f1b"),
    ("P=1,D=2,b=4", "1f1b"), ("P=1,D=2,b=8", "1f1b"),
    ("P=2,D=1,b=4", "gpipe"), ("P=2,D=1,b=4", "1f1b"), ("P=2,D=1,b=8", "1f1b"),
    ("P=2,D=1,b=4", "interleaved"), ("P=2,D=1,b=4", "looped-bfs"), ("P=2,D=1,b=4", "zb-h1"),
    ("P=2,D=1,b=4", "zb-h2"), ("P=2,D=1,b=4", "zb-v"), ("P=2,D=1,b=4", "dualpipe-v"),
    ("P=2,D=1,b=4", "dualpipe"), ("P=2,D=1,b=4", "chimera"))
# And what is sharded.
SHARDED = tuple((f"P=1,D=2,b={b}", "1f1b", sharding)
                for sharding in ("zero1", "zero2", "fsdp") for b in (4, 8))


def run(program, *arguments, allowed=(0,)):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if result.returncode not in allowed:
        raise SystemExit(f"penstock {' '.join(arguments)}: {result.stderr}")
    return result


class Measuring:
    def __init__(self, program, folder, steps):
        self.program, self.folder, self.steps = program, folder, steps

    def at(self, name):
        return os.path.join(self.folder, name)

    def profile(self):
        run(self.program, "profile", *MODEL, *SIZES, "--budget", "60s", "--beside", "0",
            "-o", self.at("alone.json"))
        run(self.program, "profile", *MODEL, *SIZES, "--budget", "60s", "--beside", "1", "--links",
            "--cluster-out", self.at("cluster.json"), "-o", self.at("beside.json"))

    def write_corpus(self):
        # Any text will do: the tokens are bytes.
        with open(self.at("corpus.txt"), "w", encoding="utf-8") as corpus:
            for name in ("README.md", "docs/schedules.md", "docs/cost_model.md"):
                with open(name, encoding="utf-8") as text:
                    corpus.write(text.read())

    def validate(self, pins, schedule, sharding=None):
        stem = f"{schedule}-{pins.replace('=', '').replace(',', '-')}-{sharding}"
        plan, log = self.at(stem + ".plan.json"), self.at(stem + ".jsonl")
        profile = "alone.json" if pins.startswith("P=1,D=1") else "beside.json"
        run(self.program, "plan", self.at(profile), "--cluster", self.at("cluster.json"),
            "--gpus", "2", "--global-batch", str(BATCH), "--for", "penstock",
            *(["--sharding", sharding] if sharding else ["--zero1", "off"]),
            "--schedule", schedule, "--pin", pins, "-o", plan)
        run(self.program, "train", plan, "--data", self.at("corpus.txt"), "--steps",
            str(self.steps), "--log", log, "--timeline")
        return json.loads(
            run(self.program, "validate", plan, log, "--json", allowed=(0, 1)).stdout)


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=13)
    parser.add_argument("--tolerance-percent", type=float, default=10.0)
    parser.add_argument("--keep-profile", action="store_true", help="use that of an earlier call")
    parser.add_argument("--sharded", action="store_true", help="only the plans that shard")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    measuring = Measuring(arguments.program, arguments.folder, arguments.steps)
    measuring.write_corpus()
    if not arguments.keep_profile:
        measuring.profile()
    errors = []
    print("| schedule | shards | P | D | b | predicted | measured (median) | least to most | error |")
    print("|---|---|---|---|---|---|---|---|---|")
    for pins, schedule, *sharding in (() if arguments.sharded else PLANS) + SHARDED:
        answer = measuring.validate(pins, schedule, *sharding)
        plan = answer["plan"]
        errors.append(abs(answer["error"]))
        print(f"| {schedule} | {''.join(sharding) or '-'} | {plan['pipeline']} | {plan['data']} | {plan['micro_batch_size']} "
              f"| {milliseconds(answer['predicted_step_time_ns'])} "
              f"| {milliseconds(answer['measured_step_time_ns'])} "
              f"| {milliseconds(answer['fastest_ns'])} to {milliseconds(answer['slowest_ns'])} "
              f"| {100 * answer['error']:+.1f} % |", flush=True)
    median = statistics.median(errors)
    print(f"\nmedian error {100 * median:.1f} %, largest {100 * max(errors):.1f} %")
    return 0 if 100 * median <= arguments.tolerance_percent else 1


if __name__ == "__main__":
    sys.exit(main())
