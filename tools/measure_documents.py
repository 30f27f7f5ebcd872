#!/usr/bin/env python3
"""What planning by length saves on this machine, measured against what was predicted.

    tools/measure_documents.py PENSTOCK FOLDER [--lengths FILE] [--model gpt|t5] [--rounds N] ...

Profiles a small model here, plans a layout for two ranks, and trains on made-up documents of the
given lengths twice per round: padded to the next multiple of 8, and padded to one length. Prints for
both the sum of step times beside its prediction, and the ratio of the two. Give it a machine on which
nothing else runs. What it needs and makes stays in FOLDER; a profile that is there is used again.
"""

import argparse
import json
import os
import random
import subprocess


def run(command, **options):
    print("$", " ".join(command), flush=True)
    return subprocess.run(command, check=True, text=True, **options)


def lengths_of(path, most):
    """(first, second) of every line, cut."""
    with open(path, encoding="utf-8") as file:
        rows = [line.strip().split(",") for line in file.read().split("\n")[1:] if line.strip()]
    return [tuple(min(int(cell), most) for cell in row) for row in rows]


def write_documents(path, lengths, pairs, seed):
    drawn = random.Random(seed)

    def ids(count):
        return [drawn.randrange(256) for _ in range(count)]

    with open(path, "w", encoding="utf-8") as file:
        for first, second in lengths:
            both = {"input_ids": ids(first), "labels": ids(second)}
            file.write(json.dumps(both if pairs else {"tokens": sum(both.values(), [])}) + "\n")


def steps_of(path, warm_up):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file][warm_up:]


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("penstock")
    options.add_argument("folder")
    options.add_argument("--lengths", default="data/lengths/flan-cot.csv")
    options.add_argument("--model", default="gpt", choices=("gpt", "t5"))
    options.add_argument("--layers", default="4")
    options.add_argument("--hidden", default="256")
    options.add_argument("--longest", type=int, default=512)
    options.add_argument("--grid", default="16,32,64,128,256,512")
    options.add_argument("--sizes", default="1,2,4,8")
    options.add_argument("--tokens", default="4096")
    options.add_argument("--steps", default="15")
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--pin", default="PP=2")
    options.add_argument("--budget", default="300s")
    given = options.parse_args()
    os.makedirs(given.folder, exist_ok=True)

    def path(name):
        return os.path.join(given.folder, name)

    pairs = given.model == "t5"
    if not os.path.exists(path("cluster.json")):
        run([given.penstock, "profile", given.model, "--layers", given.layers, "--hidden",
             given.hidden, "--positions", str(given.longest), "--sequence-length", given.grid,
             "--micro-batch-sizes", given.sizes, "--links", "--largest", "4", "--budget",
             given.budget, "-o", path("profile.json"), "--cluster-out", path("cluster.json")],
            stdout=subprocess.DEVNULL)
    write_documents(path("docs.jsonl"), lengths_of(given.lengths, given.longest), pairs, 1)
    run([given.penstock, "dynamic", path("profile.json"), "--cluster", path("cluster.json"),
         "--for", "penstock", "--gpus", "2", "--lengths", given.lengths, "--max-length",
         str(given.longest), "--tokens-per-batch", given.tokens, "--batches", "4", "--pin",
         given.pin, "--plan", path("plan.json"), "-o", path("report.html")],
        stdout=subprocess.DEVNULL)
    sums = {}
    for _ in range(given.rounds):
        for pad_to in ("8", str(given.longest)):
            run([given.penstock, "train", path("plan.json"), "--documents", path("docs.jsonl"),
                 "--tokens-per-batch", given.tokens, "--steps", given.steps, "--pad-to", pad_to,
                 "--statistics", path(f"steps-{pad_to}.jsonl")], stdout=subprocess.DEVNULL)
            measured, predicted = sums.get(pad_to, (0, 0))
            for step in steps_of(path(f"steps-{pad_to}.jsonl"), 3):
                measured += step["measured_step_time_ns"]
                predicted += step["predicted_step_time_ns"]
            sums[pad_to] = measured, predicted
    for pad_to, (measured, predicted) in sums.items():
        print(f"padded to multiples of {pad_to}: {measured / 1e9:.2f} s, predicted "
              f"{predicted / 1e9:.2f} s ({100 * (predicted / measured - 1):+.1f} %)")
    (few, few_predicted), (many, many_predicted) = sums["8"], sums[str(given.longest)]
    measured, predicted = many / few, many_predicted / few_predicted
    error = predicted / measured - 1
    print(f"planning by length is {measured:.2f} times as fast, predicted {predicted:.2f} "
          f"({100 * error:+.1f} %): {'within' if abs(error) <= 0.1 else 'NOT within'} 10 %")


if __name__ == "__main__":
    main()
