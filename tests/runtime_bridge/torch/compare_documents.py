#!/usr/bin/env python3
"""Runs on documents of real lengths, under several layouts and schedules, against one plain loop.

    compare_documents.py PENSTOCK DOCUMENT_LOOP FOLDER [--model gpt|t5] [--steps N] ...

Profiles a small model in double precision, makes documents of the lengths of a file, plans layouts
for two ranks (processes, Gloo) and four (threads, loopback), and trains each under several
schedules, every step with a plan of its own. DOCUMENT_LOOP (ninja document_loop) trains on the same
documents one by one, without padding, with LibTorch's own optimizer. Prints for every run the
largest relative difference between their losses, under which schedules its steps ran, and how much
of the planned memory the ranks took at most. Ends with 1 where a difference is above 1e-10, or memory
above what was planned. By hand: it takes minutes. A profile that lies in FOLDER is used again.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys

LARGEST_DIFFERENCE = 1e-10
LEARNING_RATE = "0.003"
# PP, DP, VP and how the ranks talk.
LAYOUTS = ((2, 1, 1, "gloo"), (1, 2, 1, "gloo"), (2, 1, 2, "gloo"), (2, 2, 1, "loopback"),
           (4, 1, 1, "loopback"), (2, 2, 2, "loopback"))


def schedules_of(layout):
    pipeline, _, chunks, _ = layout
    if pipeline == 1:
        return ("1f1b",)
    return ("interleaved", "interleaved-zb", "cyclic") if chunks > 1 else (
        "1f1b", "zb-h1", "cyclic")


def run(command, **options):
    done = subprocess.run(command, check=False, text=True, capture_output=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr}")
    return done.stdout


def write_documents(path, lengths, longest, pairs, count):
    """Random ids, low ones more often, so that there is something to learn."""
    drawn = random.Random(1)
    with open(lengths, encoding="utf-8") as file:
        rows = [line.split(",") for line in file.read().split("\n")[1:] if line.strip()]
    with open(path, "w", encoding="utf-8") as file:
        for row in drawn.sample(rows, count):
            first, second = ([drawn.randrange(drawn.randrange(1, 256))
                              for _ in range(min(int(cell), longest))] for cell in row)
            document = {"input_ids": first, "labels": second}
            file.write(json.dumps(document if pairs else {"tokens": first + second}) + "\n")


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


class Comparison:
    def __init__(self, given):
        self.given = given
        self.failures = 0
        self.of_loop = None
        os.makedirs(given.folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.given.folder, name)

    def profile(self):
        """Kept in the folder, because it takes longest: of one model."""
        given, asked = self.given, self.path("profiled.json")
        question = [given.model, given.longest]
        if os.path.exists(asked):
            with open(asked, encoding="utf-8") as file:
                kept = json.load(file)
            if kept != question:
                sys.exit(f"{given.folder} holds the profile of {kept}, not of {question}: name another folder")
            return
        sizes = ["--layers", "3", "--decoder-layers", "3", "--tied"] if given.model == "t5" else [
            "--layers", "6"]
        run([given.penstock, "profile", given.model, *sizes, "--hidden", "32", "--heads", "2",
             "--positions", str(given.longest), "--sequence-length", f"16,128,{given.longest}",
             "--micro-batch-sizes", "1,4", "--precision", "float64", "--links", "--participants",
             "4", "--largest", "1", "--spread", "30", "--budget", "6s", "--beside", "0",
             "-o", self.path("profile.json"), "--cluster-out", self.path("cluster.json")])
        with open(asked, "w", encoding="utf-8") as file:
            json.dump(question, file)

    def halve_backwards(self):
        """Where dividing a backward costs nothing, a zero-bubble schedule is picked for most steps;
        which times a plan was made for does not matter to losses."""
        with open(self.path("profile.json"), encoding="utf-8") as file:
            profile = json.load(file)
        for section in profile["section_types"]:
            for row in section["measurements"]:
                both = row["fused_backward_ns"]
                row["input_gradient_ns"] = both // 2
                row["weight_gradient_ns"] = both - both // 2
        with open(self.path("profile.json"), "w", encoding="utf-8") as file:
            json.dump(profile, file)

    def plan(self, layout):
        pipeline, data, chunks, _ = layout
        plan = self.path(f"plan-{pipeline}-{data}-{chunks}.json")
        run([self.given.penstock, "dynamic", self.path("profile.json"), "--cluster",
             self.path("cluster.json"), "--for", "penstock", "--gpus", str(pipeline * data),
             "--lengths", self.given.lengths, "--max-length", str(self.given.longest),
             "--tokens-per-batch", self.given.tokens, "--batches", "1", "--pin",
             f"PP={pipeline},DP={data},VP={chunks}", "--plan", plan,
             "-o", self.path("report.html")])
        return plan

    def losses_of_loop(self, plan):
        """The same for every layout, so once; never that of an earlier call, whose documents or program were others."""
        given = self.given
        if self.of_loop is None:
            self.of_loop = lines_of(run([given.loop, plan, self.path("docs.jsonl"), str(given.longest),
                                         given.tokens, str(given.steps), LEARNING_RATE],
                                        env={**os.environ, "OMP_NUM_THREADS": "1"}))
        return self.of_loop

    def compare(self, plan, layout, schedule, expected):
        given, statistics = self.given, self.path("steps.jsonl")
        run([given.penstock, "train", plan, "--documents", self.path("docs.jsonl"),
             "--max-length", str(given.longest), "--tokens-per-batch", given.tokens,
             "--steps", str(given.steps), "--learning-rate", LEARNING_RATE, "--no-pinning",
             "--transport", layout[3], "--schedule", schedule, "--replays", "20",
             "--time-out", "300s", "--statistics", statistics])
        with open(statistics, encoding="utf-8") as file:
            steps = lines_of(file.read())
        assert [step["documents"] for step in steps] == [step["documents"] for step in expected]
        worst = max(abs(one["loss"] / other["loss"] - 1) for one, other in zip(steps, expected))
        held = max(measured / planned for step in steps for measured, planned in zip(
            step["measured_bytes"], step["predicted_bytes"]))
        ran = collections.Counter(step["plan"]["schedule"] for step in steps)
        pipeline, data, chunks, transport = layout
        fits = worst <= LARGEST_DIFFERENCE and held <= 1
        self.failures += not fits
        print(f"{given.model} PP={pipeline} DP={data} VP={chunks} {transport}, {schedule}: losses "
              f"differ by {worst:.1e}, memory {100 * held:.2f} % of planned, steps "
              f"{dict(ran)}{'' if fits else '  <-- NOT AS IT SHOULD BE'}", flush=True)

    def run(self):
        given = self.given
        self.profile()
        self.halve_backwards()
        write_documents(self.path("docs.jsonl"), given.lengths, given.longest,
                        given.model == "t5", given.documents)
        layouts = [layout for layout in LAYOUTS if not given.layouts or
                   "-".join(map(str, layout[:3])) in given.layouts.split(",")]
        for layout in layouts:
            plan = self.plan(layout)
            expected = self.losses_of_loop(plan)
            if layout is layouts[0]:
                print(f"loop: loss {expected[0]['loss']:.4f} to {expected[-1]['loss']:.4f}; "
                      f"{sum(len(step['documents']) for step in expected)} documents",
                      flush=True)
            for schedule in schedules_of(layout):
                self.compare(plan, layout, schedule, expected)
        return 1 if self.failures else 0


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("penstock")
    options.add_argument("loop")
    options.add_argument("folder")
    options.add_argument("--model", default="gpt", choices=("gpt", "t5"))
    options.add_argument("--lengths", default="data/lengths/flan-cot.csv")
    options.add_argument("--longest", type=int, default=512)
    options.add_argument("--tokens", default="2048")
    options.add_argument("--documents", type=int, default=400)
    options.add_argument("--steps", type=int, default=50)
    options.add_argument("--layouts", default="", help="such as 2-1-1,2-2-1: PP-DP-VP; default all")
    sys.exit(Comparison(options.parse_args()).run())


if __name__ == "__main__":
    main()
