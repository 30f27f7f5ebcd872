#!/usr/bin/env python3
"""Usage: jobs_of_a_file.py PENSTOCK. Four jobs share two ranks: a failing one stops no other.

The ranks sleep and their clock jumps, so that a job takes no time but that of a process. Run from the
repository root."""
import json
import os
import subprocess
import sys
import tempfile

QUESTION = ("data/profiles/gpt-6.7b.a100-40gb.json --cluster data/clusters/a100-40gb-p4d-8x8.json --gpus 1 "
            "--global-batch 16 --sequence-length 2048 --spill --shards 6,13,20,27,33").split()
VIRTUAL = ["--virtual", "--no-sleep"]


def expect(holds, what, *shown):
    if not holds:
        sys.exit(f"not so: {what}\n" + "\n".join(map(str, shown)))


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        plans = {"plain": [], "clipped": ["--clipping"]}
        for name, more in plans.items():
            made = run(program, "plan", *QUESTION, *more, "-o", f"{folder}/{name}.json")
            expect(made.returncode == 0, f"there is a plan '{name}'", made.stderr)
        jobs = [{"name": f"job{i}", "plan": f"{folder}/{'clipped' if i == 2 else 'plain'}.json",
                 "steps": 3 + i, "train": list(VIRTUAL)} for i in range(4)]
        jobs[1]["train"].append("--no-such-option")
        with open(f"{folder}/jobs.json", "w", encoding="utf-8") as file:
            json.dump({"format": "penstock.jobs/1", "jobs": jobs}, file)
        asked = ["train", "--jobs", f"{folder}/jobs.json", "--ranks", "2", "--jobs-folder",
                 f"{folder}/results"]
        ended = run(program, *asked, "--json")
        expect(ended.returncode == 1, "a job that fails is a no", ended.returncode, ended.stderr)
        result = json.loads(ended.stdout)["result"]
        outcomes = [job["outcome"] for job in result["jobs"]]
        expect(outcomes == ["done", "failed: exit code 2", "done", "done"], "one fails alone", outcomes)
        steps = [job["steps"] for job in result["jobs"]]
        expect(steps == [3, 0, 5, 6], "the others take all of their steps", steps)
        # 3 + 6 and 4 + 5 steps of about the same time: half of one after another, to a tenth.
        ratio = result["one_after_another_ns"] / result["planned_makespan_ns"]
        expect(1.8 <= ratio <= 2.0, "two ranks share the jobs evenly", ratio)
        for i, plan in ((0, "plain"), (2, "clipped")):
            with open(f"{folder}/{plan}.json", encoding="utf-8") as file:
                predicted = json.load(file)["prediction"]["step_time_ns"]
            with open(f"{folder}/results/job{i}.jsonl", encoding="utf-8") as file:
                times = [json.loads(line)["step_time_ns"] for line in list(file)[1:]]
            expect(times == [predicted] * (3 + i), f"virtual ranks keep the times of '{plan}'", times,
                   predicted)
        with open(f"{folder}/results/job1.err", encoding="utf-8") as file:
            expect("--no-such-option" in file.read(), "why it failed is in its own file")
        expect(os.path.exists(f"{folder}/results/job3.txt"), "what a job prints is in its own file")
        refused = run(program, *asked, "--data", "corpus.txt")
        expect(refused.returncode == 2 and "every job has its own" in refused.stderr,
               "options of jobs belong into the file", refused.stderr)


if __name__ == "__main__":
    main()
