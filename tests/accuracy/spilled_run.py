#!/usr/bin/python3
"""Trains a small GPT that is eight times as large as the device may hold, and four jobs on two ranks, and
compares both with their plans.

    spilled_run.py PENSTOCK FOLDER [--steps N] [--tolerance-percent X] [--keep-profile] [--only PART]

PART: spilled or jobs. Nothing is fitted: the plans rest on profiles as measured before. The machine should
do nothing else meanwhile. Files stay in FOLDER. Exit code 1 when a run is off by more than the tolerance,
holds more memory than predicted, or when killing a job changes another's losses.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time

MODEL = ["gpt", "--layers", "24", "--hidden", "256", "--heads", "4", "--positions", "128"]
SIZES = ["--micro-batch-sizes", "1,2", "--sequence-length", "128"]
SMALL = ["gpt", "--layers", "2", "--hidden", "128", "--heads", "4", "--positions", "128"]
LINK = "0.2"  # GB/s: a load takes about as long as a forward unit
TIMES_LARGER = 8
JOB_STEPS = (60, 90, 120, 150)


def run(program, *arguments, allowed=(0,)):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if result.returncode not in allowed:
        raise SystemExit(f"penstock {' '.join(arguments)}: {result.stderr}")
    return result


def losses_of(path):
    with open(path, encoding="utf-8") as log:
        return [json.loads(line)["loss"] for line in list(log)[1:]]


class Trial:
    def __init__(self, program, folder, steps):
        self.program, self.folder, self.steps = program, folder, steps
        self.failures = []

    def at(self, name):
        return os.path.join(self.folder, name)

    def check(self, holds, what):
        print(("ok    " if holds else "WRONG ") + what, flush=True)
        if not holds:
            self.failures.append(what)

    def profile(self):
        run(self.program, "profile", *MODEL, *SIZES, "--budget", "60s", "--beside", "0", "--links",
            "--cluster-out", self.at("cluster.json"), "-o", self.at("large.json"))
        run(self.program, "profile", *SMALL, *SIZES, "--budget", "30s", "--beside", "1",
            "-o", self.at("small.json"))

    def write_corpus(self):
        with open(self.at("corpus.txt"), "w", encoding="utf-8") as corpus:
            for name in ("README.md", "docs/schedules.md", "docs/cost_model.md"):
                with open(name, encoding="utf-8") as text:
                    corpus.write(text.read())

    def plan_spilled(self, cluster, name):
        answer = run(self.program, "plan", self.at("large.json"), "--cluster", cluster, "--gpus", "1",
                     "--global-batch", "4", "--spill", "--host-gib", "8", "--host-gb-per-s", LINK,
                     "-o", self.at(name), "--json")
        return json.loads(answer.stdout)

    def limited_cluster(self):
        with open(self.at("cluster.json"), encoding="utf-8") as file:
            cluster = json.load(file)
        self.plan_spilled(self.at("cluster.json"), "roomy.json")
        with open(self.at("roomy.json"), encoding="utf-8") as file:
            stages = json.load(file)["prices"]["stages"]
        keys = ("parameters_bytes", "gradients_bytes", "optimizer_state_bytes", "only_on_host_bytes")
        state = sum(stage.get(key, 0) for stage in stages for key in keys)
        for device in cluster["device_types"]:
            for key in [key for key in device if key.startswith("memory_") and "bandwidth" not in key
                        and "per_s" not in key]:
                del device[key]
            device["memory_bytes"] = state // TIMES_LARGER
            device["reserve_bytes"] = 0
        with open(self.at("limited.json"), "w", encoding="utf-8") as file:
            json.dump(cluster, file)
        return state

    def spilled(self, tolerance):
        state = self.limited_cluster()
        self.plan_spilled(self.at("limited.json"), "spilled.json")
        with open(self.at("spilled.json"), encoding="utf-8") as file:
            plan = json.load(file)
        predicted = plan["prediction"]["step_time_ns"]
        started = run(self.program, "train", "--spill", self.at("spilled.json"), "--data",
                      self.at("corpus.txt"), "--steps", str(self.steps), "--host-gb-per-s", LINK,
                      "--log", self.at("spilled.jsonl"), "--timeline")
        with open(self.at("spilled.jsonl"), encoding="utf-8") as log:
            times = [json.loads(line)["step_time_ns"] for line in list(log)[1:]]
        measured = statistics.median(times[1:])
        off = (measured / predicted - 1) * 100
        stages = len(plan["program"]["pipelines"][0]["stages"])
        print(f"model state {state / 2**20:.1f} MiB, device {state / TIMES_LARGER / 2**20:.1f} MiB, "
              f"{stages} shards; step predicted {predicted / 1e6:.1f} ms, measured {measured / 1e6:.1f} ms")
        self.check(abs(off) <= tolerance, f"the step is {off:+.1f} % of the predicted one")
        held = re.search(r"the device held ([\d.]+) (\w+) at most, of ([\d.]+) (\w+) predicted",
                         started.stderr)
        print(held.group(0))
        units = {"B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
        self.check(float(held.group(1)) * units[held.group(2)] <=
                   float(held.group(3)) * units[held.group(4)], "no more memory than predicted")

    def write_jobs(self):
        jobs = []
        for number, steps in enumerate(JOB_STEPS):
            name = f"job{number}"
            run(self.program, "plan", self.at("small.json"), "--cluster", self.at("cluster.json"),
                "--gpus", "1", "--global-batch", "8", "--for", "penstock", "-o",
                self.at(f"{name}.plan.json"))
            jobs.append({"name": name, "plan": self.at(f"{name}.plan.json"), "steps": steps * 4,
                         "train": ["--data", self.at("corpus.txt"), "--seed", str(number + 1)]})
        with open(self.at("jobs.json"), "w", encoding="utf-8") as file:
            json.dump({"format": "penstock.jobs/1", "jobs": jobs}, file)

    def train_jobs(self, folder):
        return subprocess.Popen(
            [self.program, "train", "--jobs", self.at("jobs.json"), "--ranks", "2", "--jobs-folder",
             self.at(folder), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def jobs(self, tolerance):
        self.write_jobs()
        answer = json.loads(self.train_jobs("together").communicate()[0])["result"]
        makespan, planned = answer["makespan_ns"], answer["planned_makespan_ns"]
        apart = answer["one_after_another_ns"]
        off = (makespan / planned - 1) * 100
        print(f"four jobs on two ranks: planned {planned / 1e9:.1f} s, measured {makespan / 1e9:.1f} s, "
              f"one after another {apart / 1e9:.1f} s")
        self.check(abs(off) <= tolerance, f"the makespan is {off:+.1f} % of the planned one")
        self.check(apart / makespan >= 1.3, f"{apart / makespan:.2f} times as fast as one by one")
        # Once more, and job 1 is killed when it has begun.
        again = self.train_jobs("killed")
        while not os.path.exists(self.at("killed/job1.jsonl")):
            time.sleep(0.1)
        time.sleep(1)
        found = subprocess.run(["pgrep", "-P", str(again.pid), "-f", "job1.plan.json"],
                               capture_output=True, text=True, check=True)
        os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
        killed = json.loads(again.communicate()[0])["result"]
        self.check(again.returncode == 1 and "signal 9" in killed["jobs"][1]["outcome"],
                   "a job that is killed is said to be")
        for name in ("job0", "job2", "job3"):
            same = losses_of(self.at(f"together/{name}.jsonl")) == losses_of(
                self.at(f"killed/{name}.jsonl"))
            self.check(same, f"{name} has the losses that it has without the kill")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--tolerance-percent", type=float, default=10.0)
    parser.add_argument("--keep-profile", action="store_true")
    parser.add_argument("--only", choices=("spilled", "jobs"))
    given = parser.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    trial = Trial(os.path.abspath(given.program), given.folder, given.steps)
    if not given.keep_profile:
        trial.profile()
    trial.write_corpus()
    if given.only != "jobs":
        trial.spilled(given.tolerance_percent)
    if given.only != "spilled":
        trial.jobs(given.tolerance_percent)
    return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
