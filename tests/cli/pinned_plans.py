#!/usr/bin/env python3
"""Random questions to `plan`, asked again with the winner's own values pinned: the same step, neither faster nor slower.

    pinned_plans.py PENSTOCK COUNT [--seed N]

By hand. A pin that finds a faster plan shows what the free search missed (FASTER); one that finds only a slower plan
shows that the winner depends on what else was searched (SLOWER). Each question is asked again once with all of the
winner's values and once with a random half of them. A line per difference, with the command; exit 1 when there is any.
Both searches run to their ends: a question whose free answer says that it is not complete counts as not judged.
"""
import argparse
import json
import random
import shlex
import subprocess
import sys

DENSE = ["llama-3-8b", "llama-2-13b", "llama-2-70b", "llama-3-70b", "gpt-6.7b", "nemotron-4-15b", "opt-350m"]
EXPERTS = ["mixtral-8x7b", "qwen3-30b", "deepseek-v2-lite"]
DEVICES = ["h100-sxm", "a100-80gb", "a100-40gb", "h200-sxm", "l40s"]


def question_of(draw):
    model = draw.choice(DENSE + DENSE + EXPERTS)
    question = [f"data/models/{model}.json", "--device", draw.choice(DEVICES),
                "--sequence-length", str(draw.choice([1024, 2048])),
                "--gpus", str(draw.choice([8, 16, 24, 32, 48, 64, 96, 128])),
                "--global-batch", str(draw.choice([48, 64, 128, 256, 384]))]
    if draw.random() < 0.3:
        question += ["--for", draw.choice(["megatron", "torchtitan", "pytorch", "deepspeed", "penstock"])]
    if draw.random() < 0.2:
        question += ["--sharding", draw.choice(["zero1", "fsdp", "none"])]
    if draw.random() < 0.2:
        question += ["--recompute", draw.choice(["none", "full", "selective"])]
    return question


def values_of(plan):
    """What can be pinned, as groups of options: each alone names one of the winner's values."""
    values = [("TP", plan["tensor"]), ("PP", plan["pipeline"]), ("DP", plan["data"]), ("VP", plan["chunks"]),
              ("mbs", plan["micro_batch_size"]), ("CP", plan.get("context", 1)), ("EP", plan.get("expert", 1))]
    options = [["--schedule", plan["schedule"]], ["--placement", plan["placement"].replace("_", "-")]]
    # A plan whose stages recompute in some sections only was not found under this mode for all.
    if not plan.get("recompute_sections"):
        options.append(["--recompute", plan["recompute"]])
    return [f"{name}={value}" for name, value in values], options


def pinned(question, pins, options):
    asked = list(question)
    for option in options:
        if option[0] not in asked:
            asked += option
    return asked + (["--pin", ",".join(pins)] if pins else [])


class Asker:
    def __init__(self, penstock):
        self.penstock = penstock

    def answer(self, question):
        done = subprocess.run([self.penstock, "plan", *question, "--json", "--budget", "300s"], capture_output=True,
                              text=True, timeout=900, check=False)
        return json.loads(done.stdout) if done.stdout.startswith("{") else None

    def step_of(self, question):
        answer = self.answer(question)
        return answer["best"]["prediction"]["step_time_ns"] if answer and answer.get("best") else None


def differences(asker, draw, question, best):
    step = best["prediction"]["step_time_ns"]
    pins, options = values_of(best["plan"])
    half = [pin for pin in pins if draw.random() < 0.5], [option for option in options if draw.random() < 0.5]
    for name, chosen in (("all values", (pins, options)), ("some values", half)):
        asked = pinned(question, *chosen)
        found = asker.step_of(asked)
        if found != step:
            kind = "NONE" if found is None else "FASTER" if found < step else "SLOWER"
            by = "" if found is None else f" by {abs(found - step) / step:.4%}"
            yield f"{kind}{by} with {name}: {shlex.join([asker.penstock, 'plan', *asked])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penstock")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw = random.Random(asked.seed)
    asker = Asker(asked.penstock)
    judged = bad = without = 0
    while judged < asked.count:
        question = question_of(draw)
        answer = asker.answer(question)
        if not answer or not answer.get("best") or not answer["complete"]:
            without += 1
            continue
        judged += 1
        lines = list(differences(asker, draw, question, answer["best"]))
        bad += bool(lines)
        print("\n".join(lines) if lines else f"{judged}: equal", flush=True)
    print(f"{judged} questions, {bad} with a difference; {without} had no plan or no complete search")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
