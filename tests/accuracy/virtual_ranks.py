#!/usr/bin/python3
"""Runs plans on ranks that sleep, and compares each run with its plan.

    virtual_ranks.py PENSTOCK [--ranks 8,16,32] [--schedules all|NAME,...] [--steps N]
                     [--jobs N] [--tolerance-percent X]

Ranks are threads that sleep what the plan says, over the loopback transport; what is compared is the
executor: order, waiting, reductions. The model is made up: two layers per rank of the pipeline,
every third a quarter longer, of which one action takes 50 ms and more, since a hop costs
milliseconds on a busy machine. Sleep can be shared: --jobs
plans run at once. Prints a table in Markdown. A plan that is off by more than the tolerance is run
once more, and the better run counts: the machine may have been busy. Exit code 1 when that does not
help.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import small_gpt  # pylint: disable=wrong-import-position

# All that ranks can carry out: no slices of sequences, no order that changes while it runs.
SCHEDULES = (
    "gpipe", "1f1b", "interleaved", "interleaved-overlap", "grouped-interleaved", "looped-bfs",
    "zb-h1", "zb-h2", "interleaved-zb", "zb-1p", "zb-2p", "zb-auto", "zb-v", "zb-v-auto", "v-half",
    "v-min", "dualpipe-v", "dualpipe", "chimera")
SOURCE = "made up for tests/accuracy/virtual_ranks.py"


def measurement(milliseconds):
    return {
        "device": "sleeper", "tensor_degree": 1, "micro_batch_size": 1, "sequence_length": 0, "recompute": "none",
        "forward_ms": milliseconds, "input_gradient_ms": milliseconds,
        "weight_gradient_ms": milliseconds, "fused_backward_ms": 2 * milliseconds,
        "recompute_time_ms": 0, "stash_bytes": 1000, "weight_stash_bytes": 500,
        "working_peak_bytes": 100, "boundary_bytes": 1000000}


def profile(layers):
    types = [{"name": name, "parameters": [{"tensor_degree": 1, "count": 1000000}],
              "measurements": [measurement(milliseconds)]}
             for name, milliseconds in (("layer", 50), ("long layer", 62.5))]
    return {
        "format": "penstock.profile/1", "name": "made up",
        "sources": [{"id": "made-up", "origin": "assumed", "text": SOURCE}],
        "training": {"bytes_per_parameter": 4, "bytes_per_gradient": 4,
                     "optimizer_bytes_per_parameter": 8, "optimizer_ps_per_parameter": 1000},
        "section_types": types,
        "sections": [{"name": f"layer.{i}", "type": "long layer" if i % 3 == 2 else "layer"}
                     for i in range(layers)]}


def cluster(ranks):
    return small_gpt.cluster(SOURCE, f"{ranks} sleepers", ranks, device="sleeper", level="wire",
                             latency_ms=2, memory=10**12)


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout, result.stderr


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def measure(program, schedule, pipeline, replicas, steps):
    """The comparison as penstock validate prints it; nothing where there is no such plan."""
    batch = 2 * pipeline * replicas
    with tempfile.TemporaryDirectory() as folder:
        plan, log = os.path.join(folder, "plan.json"), os.path.join(folder, "run.jsonl")
        exit_code, _, words = run([
            program, "plan", write(os.path.join(folder, "profile.json"), profile(2 * pipeline)),
            "--cluster", write(os.path.join(folder, "cluster.json"), cluster(pipeline * replicas)),
            "--for", "penstock", "--global-batch", str(batch), "--schedule", schedule,
            "--pin", f"P={pipeline},D={replicas},b=1", "-o", plan])
        if exit_code == 1:
            return None
        if exit_code != 0:
            raise RuntimeError(f"plan {schedule}: {words}")
        exit_code, _, words = run([program, "train", plan, "--virtual", "--steps", str(steps),
                                   "--log", log, "--timeline"])
        if exit_code != 0:
            raise RuntimeError(f"train {schedule}: {words}")
        exit_code, text, words = run([program, "validate", plan, log, "--warm-up", "0", "--json"])
        if exit_code not in (0, 1):
            raise RuntimeError(f"validate {schedule}: {words}")
        return json.loads(text)


def best_of_two(tolerance, *question):
    answer = measure(*question)
    if answer is None or abs(answer["error"]) <= tolerance:
        return answer
    return min(answer, measure(*question), key=lambda either: abs(either["error"]))


def seconds(nanoseconds):
    return f"{nanoseconds / 1e9:.3f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--ranks", default="8,16,32")
    parser.add_argument("--schedules", default="all")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--tolerance-percent", type=float, default=3.0)
    arguments = parser.parse_args()
    schedules = SCHEDULES if arguments.schedules == "all" else arguments.schedules.split(",")
    tolerance = arguments.tolerance_percent / 100
    questions = [(schedule, ranks // replicas, replicas)
                 for ranks in map(int, arguments.ranks.split(","))
                 for replicas in (1, 2) for schedule in schedules]
    print("| schedule | P | D | V | predicted | measured | error |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        answers = pool.map(
            lambda question: best_of_two(tolerance, arguments.program, *question, arguments.steps),
            questions)
        for (schedule, pipeline, replicas), answer in zip(questions, answers):
            if answer is None:
                print(f"| {schedule} | {pipeline} | {replicas} | | no such plan | | |", flush=True)
                continue
            worst = max(worst, abs(answer["error"]))
            print(f"| {schedule} | {pipeline} | {replicas} | {answer['plan']['chunks']} "
                  f"| {seconds(answer['predicted_step_time_ns'])} "
                  f"| {seconds(answer['measured_step_time_ns'])} "
                  f"| {100 * answer['error']:+.2f} % |", flush=True)
    print(f"\nlargest error: {100 * worst:.2f} %")
    return 0 if worst <= tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
