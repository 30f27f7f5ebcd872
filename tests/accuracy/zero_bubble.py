#!/usr/bin/env python3
"""The published runs of the zero-bubble paper, predicted by `penstock predict` from the models' sizes.

usage: zero_bubble.py PENSTOCK [--given] [--pairs]

Prints every run: measured, predicted, error, whether it lies within its interval; then by schedule and in all.
--given: with the 1F1B run of fewest micro-batches of the same model, table and machine told as --measured (it is
not counted then). --pairs: how much ratios of two predictions miss the ratio measured, by what the two runs of a
model differ in. The runs are in zero_bubble.json, which names their source.
"""

import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

SCHEDULES = {"1F1B": "1f1b", "1F1B-I": "interleaved", "ZB-1p": "zb-1p", "ZB-2p": "zb-2p", "ZB-V": "zb-v"}


def config(model):
    return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": model["layers"],
            "n_head": model["heads"], "n_embd": model["hidden"], "n_positions": 1024, "vocab_size": 32000,
            "activation_function": "gelu_new", "tie_word_embeddings": True}


def flat(published):
    for group in published["runs"]:
        for m, speed in zip(group["micro_batches"], group["samples_per_gpu_second"]):
            run = {key: value for key, value in group.items() if key != "samples_per_gpu_second"}
            run["micro_batches"] = m
            run["seconds"] = group["micro_batch_size"] * m / (speed * group["gpus"])
            yield run


def layout(run, model):
    """Embedding and head count as a layer each; interleaved has one layer in a chunk."""
    chunks = {"1F1B-I": (model["layers"] + 2) // run["gpus"], "ZB-V": 2}.get(run["schedule"], 1)
    stages = run["gpus"] * chunks
    each = (model["layers"] + 2) // stages
    cuts = ",".join(str(stage * each) for stage in range(stages + 1))
    v = f" V={chunks}" if chunks > 1 else ""
    return (f"T=1 P={run['gpus']}{v} mbs={run['micro_batch_size']} M={run['micro_batches']} seq=1024 "
            f"schedule={SCHEDULES[run['schedule']]} cuts={cuts}")


def predict(penstock, folder, run, model, given):
    arguments = [penstock, "predict", os.path.join(folder, run["model"] + ".json"), "--device", "a100-sxm-80gb",
                 "--precision", "float16", "--attention", "eager", "--layout", layout(run, model), "--json"]
    if given:
        arguments += ["--measured", f"{layout(given, model)}: {given['seconds']:.5f}s"]
    answer = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if not answer.stdout:
        raise SystemExit(answer.stderr)
    return json.loads(answer.stdout)["prediction"]


def summary(name, results):
    errors = [abs(result["error"]) for result in results]
    inside = sum(result["inside"] for result in results)
    print(f"{name:8} {len(results):3} runs: mean error {100 * sum(errors) / len(errors):4.1f} %, "
          f"largest {100 * max(errors):4.1f} %, {inside} inside")


def pairs(results):
    groups = {}
    for a, b in itertools.combinations(results, 2):
        if a["model"] != b["model"]:
            continue
        keys = {"gpus": "P", "micro_batch_size": "b", "schedule": "schedule"}
        what = " and ".join(word for key, word in keys.items() if a[key] != b[key]) or "micro-batches only"
        miss = abs(math.log1p(a["error"]) - math.log1p(b["error"]))
        groups.setdefault(what, []).append(miss)
        groups.setdefault("all", []).append(miss)
    for what, misses in sorted(groups.items()):
        misses.sort()
        nine = misses[math.ceil(0.9 * len(misses)) - 1]
        print(f"{what:26} {len(misses):4} pairs: median {100 * misses[len(misses) // 2]:4.1f} %, "
              f"nine of ten {100 * nine:4.1f} %")


def predicted_runs(penstock, with_given):
    """The runs with the error of each, and whether it lies inside; without those that are given."""
    with open(os.path.join(os.path.dirname(__file__), "zero_bubble.json"), encoding="utf-8") as file:
        published = json.load(file)
    runs = list(flat(published))
    with tempfile.TemporaryDirectory() as folder:
        for name, model in published["models"].items():
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(config(model), file)
        for run in runs:
            model = published["models"][run["model"]]
            given = None
            if with_given:
                same = [one for one in runs if one["schedule"] == "1F1B" and
                        (one["model"], one["table"]) == (run["model"], run["table"])]
                given = min(same, key=lambda one: one["micro_batches"])
            if run == given:
                continue
            prediction = predict(penstock, folder, run, model, given)
            step = prediction["step_time_ns"] * 1e-9
            inside = prediction["step_time_low_ns"] <= run["seconds"] * 1e9 <= prediction["step_time_high_ns"]
            yield run | {"step": step, "error": step / run["seconds"] - 1.0, "inside": inside}


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    results = []
    for run in predicted_runs(sys.argv[1], "--given" in sys.argv):
        results.append(run)
        print(f"{run['table']} {run['model']:>5} P={run['gpus']:<2} b={run['micro_batch_size']} "
              f"M={run['micro_batches']:<3} {run['schedule']:6} {run['seconds']:7.3f} s {run['step']:7.3f} s "
              f"{100 * run['error']:+5.1f} % {'inside' if run['inside'] else 'outside'}")
    for schedule in SCHEDULES:
        summary(schedule, [one for one in results if one["schedule"] == schedule])
    summary("all", results)
    if "--pairs" in sys.argv:
        pairs(results)


if __name__ == "__main__":
    main()
