#!/usr/bin/python3
"""Trains a small GPT that is eight times as large as the device may hold, and four jobs on two ranks, and
compares both with their plans.

    spilled_run.py PENSTOCK FOLDER [--steps N] [--tolerance-percent X] [--links GB/S,...] [--budget S]
                   [--keep-profile] [--only PART] [--jobs KIND,...] [--shorter N]

PART: profile, spilled, jobs (timed, and each killed once) or kills (only that, whatever else runs). Nothing is fitted:
the plans rest on profiles as measured before. The machine should do nothing else meanwhile: the script says what other
programs took of it, repeats a profile beside which they took more than --quiet (a tenth of a processor), and counts
only the steps beside which they took less. Files stay in FOLDER. In pieces of at most four minutes on two processors:

    --only profile
    --only spilled --keep-profile --links 0.2
    --only jobs --keep-profile --jobs plain

Exit code 1 when a run is off by more than the tolerance, holds more memory than predicted, when killing a job changes
another's losses, or when too few steps were undisturbed.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

MODEL = ["gpt", "--layers", "24", "--hidden", "256", "--heads", "4", "--positions", "128"]
SIZES = ["--micro-batch-sizes", "1,2", "--sequence-length", "128"]
SMALL = ["gpt", "--layers", "2", "--hidden", "128", "--heads", "4", "--positions", "128"]
LINKS = "0.05,0.2,1"  # GB/s: with the second a load takes about as long as a forward unit
LEAST_STEPS = 3  # that must have been undisturbed
TIMES_LARGER = 8
JOB_STEPS = {"plain": (160, 240, 320, 400), "spilled": (12, 16, 20, 24)}
JOBS = ("job0", "job1", "job2", "job3")
SHORTER = 4  # runs in which a job is killed
SLOW_LINK = "0.005"
RETRIES = 90  # seconds behind which a profile is not measured again


def run(program, *arguments, allowed=(0,)):
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if result.returncode not in allowed:
        raise SystemExit(f"penstock {' '.join(arguments)}: {result.stderr}")
    return result


def losses_of(path):
    with open(path, encoding="utf-8") as log:
        return [json.loads(line)["loss"] for line in list(log)[1:]]


def steps_in(path):
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as log:
        return log.read().count("\n") - 1


def of_process(pid):
    """Parent, and seconds of processor with those of children that have ended."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return int(words[1]), sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    """Of this process and all below it."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found[int(name)] = of_process(name)
        except OSError:
            continue  # it has ended

    def is_own(pid):
        while pid in found and pid != os.getpid():
            pid = found[pid][0]
        return pid == os.getpid()

    return sum(seconds for pid, (_, seconds) in found.items() if is_own(pid))


class Others:
    """What other programs, and other machines on the same host, took of the processors since it was made."""

    def __init__(self):
        self.began = self.look()

    @staticmethod
    def look():
        with open("/proc/stat", encoding="ascii") as stat:
            words = list(map(int, stat.readline().split()[1:]))
        busy = (sum(words[:3]) + sum(words[5:8])) / os.sysconf("SC_CLK_TCK")
        return busy - own_seconds(), time.monotonic()

    def processors(self):
        busy, now = self.look()
        return max(0.0, (busy - self.began[0]) / max(1e-3, now - self.began[1]))


class Trial:
    def __init__(self, program, folder, given):
        self.program, self.folder = program, folder
        self.steps, self.budget, self.quiet = given.steps, given.budget, given.quiet
        self.failures = []

    def at(self, name):
        return os.path.join(self.folder, name)

    def check(self, holds, what):
        print(("ok    " if holds else "WRONG ") + what, flush=True)
        if not holds:
            self.failures.append(what)

    def profile_one(self, name, *arguments):
        least, began = None, time.monotonic()
        while least is None or time.monotonic() - began < RETRIES:
            others = Others()
            run(self.program, "profile", *arguments, "--budget", f"{self.budget}s", "-o", self.at("try.json"))
            beside = others.processors()
            print(f"{name}: measured beside {beside:.2f} processors of others", flush=True)
            if least is None or beside < least:
                least = beside
                os.replace(self.at("try.json"), self.at(name))
            if beside <= self.quiet:
                break

    def profile(self):
        self.profile_one("large.json", *MODEL, *SIZES, "--beside", "0", "--links", "--cluster-out",
                         self.at("cluster.json"))
        self.profile_one("small.json", *SMALL, *SIZES, "--beside", "1")

    def write_corpus(self):
        with open(self.at("corpus.txt"), "w", encoding="utf-8") as corpus:
            for name in ("README.md", "docs/schedules.md", "docs/cost_model.md"):
                with open(name, encoding="utf-8") as text:
                    corpus.write(text.read())

    def plan_spilled(self, cluster, name, link):
        answer = run(self.program, "plan", self.at("large.json"), "--cluster", cluster, "--gpus", "1",
                     "--global-batch", "4", "--spill", "--host-gib", "8", "--host-gb-per-s", link,
                     "-o", self.at(name), "--json")
        return json.loads(answer.stdout)

    def limited_cluster(self):
        with open(self.at("cluster.json"), encoding="utf-8") as file:
            cluster = json.load(file)
        self.plan_spilled(self.at("cluster.json"), "roomy.json", "1")
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

    def watched_run(self, arguments, log):
        """Its stderr, and the seconds and others' processors of every step behind the first."""
        if os.path.exists(log):
            os.remove(log)
        with open(self.at("spilled.err"), "w+", encoding="utf-8") as errors:
            child = subprocess.Popen([self.program, *arguments], stdout=subprocess.DEVNULL, stderr=errors)
            others, seen, beside = Others(), 0, []
            while child.poll() is None:
                time.sleep(0.02)
                steps = steps_in(log)
                if steps > seen:
                    beside += [others.processors()] * (steps - seen)
                    others, seen = Others(), steps
            errors.seek(0)
            text = errors.read()
        if child.returncode != 0:
            raise SystemExit(f"penstock {' '.join(arguments)}: {text}")
        with open(log, encoding="utf-8") as file:
            times = [json.loads(line)["step_time_ns"] for line in list(file)[1:]]
        return text, list(zip(times, beside))[1:]

    def spilled(self, tolerance, link):
        state = self.limited_cluster()
        self.plan_spilled(self.at("limited.json"), "spilled.json", link)
        with open(self.at("spilled.json"), encoding="utf-8") as file:
            plan = json.load(file)
        predicted = plan["prediction"]["step_time_ns"]
        stages = len(plan["program"]["pipelines"][0]["stages"])
        text, steps = self.watched_run(
            ["train", "--spill", self.at("spilled.json"), "--data", self.at("corpus.txt"), "--steps",
             str(self.steps), "--host-gb-per-s", link, "--log", self.at("spilled.jsonl"), "--timeline"],
            self.at("spilled.jsonl"))
        undisturbed = [time_ns for time_ns, beside in steps if beside <= self.quiet]
        print(f"link {link} GB/s: model state {state / 2**20:.1f} MiB, device "
              f"{state / TIMES_LARGER / 2**20:.1f} MiB, {stages} shards; step predicted {predicted / 1e6:.1f} ms")
        print("  steps (ms, others): " + ", ".join(f"{each / 1e6:.0f} {beside:.2f}" for each, beside in steps))
        self.check(len(undisturbed) >= LEAST_STEPS, f"{len(undisturbed)} steps were undisturbed")
        if undisturbed:
            measured = statistics.median(undisturbed)
            off = (measured / predicted - 1) * 100
            self.check(abs(off) <= tolerance,
                       f"measured {measured / 1e6:.1f} ms, {off:+.1f} % of the predicted step")
        held = re.search(r"the device held ([\d.]+) (\w+) at most, of ([\d.]+) (\w+) predicted", text)
        print("  " + held.group(0))
        self.print_kinds()
        units = {"B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
        self.check(float(held.group(1)) * units[held.group(2)] <=
                   float(held.group(3)) * units[held.group(4)], "no more memory than predicted")

    def print_kinds(self):
        """Sums over a step; copies run beside compute."""
        answer = json.loads(run(self.program, "validate", self.at("spilled.json"),
                                self.at("spilled.jsonl"), "--json", allowed=(0, 1)).stdout)
        sums = {}
        for row in answer["kinds"]:
            of_kind = sums.setdefault(row["kind"], [0, 0, 0])
            for i, key in enumerate(("predicted_ns", "measured_ns", "fastest_ns")):
                of_kind[i] += row[key] * row["count"] / 1e6
        print("  kind      predicted  measured (median)   fastest   ms per step")
        for kind, (predicted, measured, fastest) in sums.items():
            print(f"  {kind:8} {predicted:10.1f} {measured:10.1f} {fastest:17.1f}")

    def write_jobs(self, kind, shorter):
        question = [self.at("small.json"), "--cluster", self.at("cluster.json"), "--gpus", "1",
                    "--global-batch", "2" if kind == "spilled" else "8"]
        if kind == "spilled":
            question += ["--spill", "--host-gib", "2", "--host-gb-per-s", SLOW_LINK, "--shards", "0,1,2,3"]
        else:
            question += ["--for", "penstock"]
        plan = self.at(f"{kind}.plan.json")
        run(self.program, "plan", *question, "-o", plan)
        jobs = []
        for number, steps in enumerate(JOB_STEPS[kind]):
            train = ["--data", self.at("corpus.txt"), "--seed", str(number + 1)]
            if kind == "spilled":
                train += ["--host-gb-per-s", SLOW_LINK]
            jobs.append({"name": f"job{number}", "plan": plan, "steps": max(2, steps // shorter),
                         "train": train})
        with open(self.at(f"{kind}.jobs.json"), "w", encoding="utf-8") as file:
            json.dump({"format": "penstock.jobs/1", "jobs": jobs}, file)

    def train_jobs(self, kind, folder):
        shutil.rmtree(self.at(folder), ignore_errors=True)
        return subprocess.Popen(
            [self.program, "train", "--jobs", self.at(f"{kind}.jobs.json"), "--ranks", "2",
             "--jobs-folder", self.at(folder), "--json"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def together(self, kind):
        """All four, and their losses by name."""
        others, folder = Others(), f"{kind}-together"
        answer = json.loads(self.train_jobs(kind, folder).communicate()[0])["result"]
        losses = {job: losses_of(self.at(f"{folder}/{job}.jsonl")) for job in JOBS}
        return answer, losses, others.processors()

    def jobs(self, tolerance, kind):
        self.write_jobs(kind, 1)
        answer, losses, beside = self.together(kind)
        makespan, planned = answer["makespan_ns"], answer["planned_makespan_ns"]
        apart = answer["one_after_another_ns"]
        off = (makespan / planned - 1) * 100
        print(f"four {kind} jobs on two ranks, beside {beside:.2f} processors of others: "
              f"planned {planned / 1e9:.1f} s, measured {makespan / 1e9:.1f} s, one after another "
              f"{apart / 1e9:.1f} s")
        self.check(abs(off) <= tolerance, f"the makespan is {off:+.1f} % of the planned one")
        self.check(apart / makespan >= 1.3, f"{apart / makespan:.2f} times as fast as one by one")
        self.kills(kind, SHORTER, losses)

    def kills(self, kind, shorter, losses=None):
        """Each job once, behind its first step; a shorter run has the first losses of a longer one."""
        self.write_jobs(kind, shorter)
        if losses is None:
            losses = self.together(kind)[1]
        for victim in JOBS:
            folder = f"{kind}-killed"
            running = self.train_jobs(kind, folder)
            said = self.kill(running, victim, self.at(f"{folder}/{victim}.jsonl"))
            self.check(running.returncode == 1 and "signal 9" in said[victim],
                       f"{kind} {victim}, which is killed, is said to be: {said[victim]}")
            for job in JOBS:
                if job == victim:
                    continue
                own = losses_of(self.at(f"{folder}/{job}.jsonl"))
                self.check(own and own == losses[job][:len(own)],
                           f"  {job} has the {len(own)} losses that it has without the kill")

    @staticmethod
    def kill(running, victim, log):
        """What is said of each job at the end."""
        while running.poll() is None:
            time.sleep(0.02)
            if steps_in(log) < 1:
                continue
            found = subprocess.run(["pgrep", "-P", str(running.pid), "-f", f"{victim}.jsonl"],
                                   capture_output=True, text=True, check=False)
            if found.stdout:
                os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
            break
        answer = json.loads(running.communicate()[0])["result"]
        return {job: said["outcome"] for job, said in zip(JOBS, answer["jobs"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--quiet", type=float, default=0.1, help="processors that others may take")
    parser.add_argument("--links", default=LINKS, help="GB/s, one run each")
    parser.add_argument("--jobs", default="plain,spilled", help="kinds of jobs, one trial each")
    parser.add_argument("--shorter", type=int, default=SHORTER, help="with kills: steps over this")
    parser.add_argument("--budget", type=int, default=40, help="of each of the two profiles, in seconds")
    parser.add_argument("--tolerance-percent", type=float, default=10.0)
    parser.add_argument("--keep-profile", action="store_true")
    parser.add_argument("--only", choices=("profile", "spilled", "jobs", "kills"))
    given = parser.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    trial = Trial(os.path.abspath(given.program), given.folder, given)
    if not given.keep_profile:
        trial.profile()
    trial.write_corpus()
    if given.only in (None, "spilled"):
        for link in given.links.split(","):
            trial.spilled(given.tolerance_percent, link)
    if given.only in (None, "jobs"):
        for kind in given.jobs.split(","):
            trial.jobs(given.tolerance_percent, kind)
    if given.only == "kills":
        for kind in given.jobs.split(","):
            trial.kills(kind, given.shorter)
    return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
