#!/usr/bin/python3
"""Jobs of real processes that are hurt while they train.

    train_processes.py PENSTOCK [TEST...]

A small GPT on two to four ranks of this machine, over Gloo. Ranks and launcher are killed, stopped
and asked to end in the middle of a run; what counts is who is named, how soon, that no process is
left, and that a resumed run has the losses of one that nobody hurt. Nothing here waits without a
limit.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PENSTOCK = ""
SOURCE = "made up for tests/runtime_bridge/torch/train_processes.py"
LIMIT = 120  # seconds for anything; a machine may be busy
LAYERS = 2
SEQUENCE = 32


def profile():
    row = {"device": "processor", "tensor_degree": 1, "micro_batch_size": 1,
           "sequence_length": SEQUENCE, "recompute": "none", "forward_ms": 1,
           "input_gradient_ms": 1, "weight_gradient_ms": 1, "fused_backward_ms": 2,
           "recompute_time_ms": 0, "stash_bytes": 1000, "weight_stash_bytes": 500,
           "working_peak_bytes": 100, "boundary_bytes": 4096}
    section = {"name": "section", "parameters": [{"tensor_degree": 1, "count": 10000}],
               "measurements": [row]}
    names = ["embedding"] + [f"blocks.{i}" for i in range(LAYERS)] + ["head"]
    return {
        "format": "penstock.profile/1", "name": "small gpt",
        "sources": [{"id": "made-up", "origin": "assumed", "text": SOURCE}],
        "description": {"family": "gpt", "layers": LAYERS, "hidden": 32, "heads": 2,
                        "feed_forward": 64, "vocabulary": 256, "positions": SEQUENCE,
                        "tied_embedding": False, "precision": "float32", "optimizer": "adamw"},
        "training": {"bytes_per_parameter": 4, "bytes_per_gradient": 4,
                     "optimizer_bytes_per_parameter": 8, "optimizer_ps_per_parameter": 1000},
        "section_types": [section],
        "sections": [{"name": name, "type": "section"} for name in names]}


def cluster(devices):
    return {
        "format": "penstock.cluster/1", "name": "this machine",
        "sources": [{"id": "made-up", "origin": "assumed", "text": SOURCE}],
        "device_types": [{"name": "processor", "memory_bytes": 10**10, "reserve_bytes": 0,
                          "memory_bandwidth_bytes_per_s": 10**10}],
        "node_types": [{"name": "node", "device_type": "processor", "devices": devices}],
        "nodes": [{"node_type": "node", "count": 1}],
        "levels": [{"name": "loopback", "latency_ms": 1, "bandwidth_bytes_per_s": 10**9}]}


def children_of(process):
    """Process ids by rank."""
    ranks = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            if parent != process:
                continue
            with open(f"/proc/{name}/environ", encoding="utf-8") as file:
                variables = dict(v.split("=", 1) for v in file.read().split("\0") if "=" in v)
            ranks[int(variables["RANK"])] = int(name)
        except (OSError, KeyError):
            continue  # it ended while we looked
    return ranks


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, what):
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {LIMIT} s: {what}")
        time.sleep(0.02)


class Job:
    """penstock train, started and watched by its log."""

    def __init__(self, folder, plan, *options, name="run"):
        self.log = os.path.join(folder, f"{name}.jsonl")
        self.process = subprocess.Popen(
            [PENSTOCK, "train", plan, "--data", os.path.join(folder, "data.txt"), "--log", self.log,
             "--no-pinning", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def losses(self):
        if not os.path.exists(self.log):
            return {}
        with open(self.log, encoding="utf-8") as file:
            lines = [line for line in file.read().split("\n")[1:] if line.endswith("}")]
        return {step["step"]: step["loss"] for step in map(json.loads, lines)}

    def wait_for_step(self, step):
        wait_until(lambda: step in self.losses() or self.process.poll() is not None,
                   f"step {step}")
        if self.process.poll() is not None:
            raise AssertionError(f"the run ended early: {self.end()}")

    def end(self):
        """Exit code and what it said."""
        try:
            _, words = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise AssertionError("the run does not end") from error
        return self.process.returncode, words

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        if not self.process.stdout.closed:
            self.process.communicate(timeout=LIMIT)


class TrainProcesses(unittest.TestCase):
    def setUp(self):
        self.folder_of_test = tempfile.TemporaryDirectory()
        self.folder = self.folder_of_test.name
        self.jobs = []
        with open(os.path.join(self.folder, "data.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i} squared is {i * i}. " for i in range(2000)))

    def tearDown(self):
        for job in self.jobs:
            job.kill()
        self.folder_of_test.cleanup()

    def path(self, name):
        return os.path.join(self.folder, name)

    def plan(self, pipeline, data, *options):
        for name, value in (("profile", profile()), ("cluster", cluster(pipeline * data))):
            with open(self.path(f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(value, file)
        plan = self.path(f"plan-{pipeline}-{data}-{len(options)}.json")
        subprocess.run([PENSTOCK, "plan", self.path("profile.json"), "--cluster",
                        self.path("cluster.json"), "--for", "penstock", "--global-batch", "8",
                        "--schedule", "1f1b", "--pin", f"P={pipeline},D={data},b=1", *options,
                        "-o", plan], check=True, timeout=LIMIT, capture_output=True)
        return plan

    def train(self, plan, *options, name="run"):
        job = Job(self.folder, plan, *options, name=name)
        self.jobs.append(job)
        return job

    def losses_of_whole_run(self, plan, steps):
        job = self.train(plan, "--steps", str(steps), name="whole")
        exit_code, words = job.end()
        self.assertEqual(exit_code, 0, words)
        losses = job.losses()
        self.assertEqual(sorted(losses), list(range(steps)))
        return losses

    def check_gone(self, processes):
        wait_until(lambda: not any(map(is_running, processes)), "the end of all processes")

    def check_named(self, words, rank, process):
        self.assertRegex(words, rf"rank {rank} \(pid {process} on host [^)]*\) was lost in step "
                                r"\d+: no sign of life for \d+\.\d s; the others stopped")

    def test_a_killed_rank_is_named_and_the_run_goes_on_from_a_checkpoint(self):
        plan = self.plan(2, 2)
        whole = self.losses_of_whole_run(plan, 16)
        folder = self.path("checkpoints")
        options = ("--checkpoints", folder, "--checkpoint-every", "4")
        job = self.train(plan, "--steps", "100000", *options)
        job.wait_for_step(9)
        ranks = children_of(job.process.pid)
        self.assertEqual(sorted(ranks), [0, 1, 2, 3])
        begin = time.monotonic()
        os.kill(ranks[3], signal.SIGKILL)
        exit_code, words = job.end()
        self.assertLess(time.monotonic() - begin, 40, "half the time-out, and the grace")
        self.assertEqual(exit_code, 3, words)
        self.check_named(words, 3, ranks[3])
        self.check_gone(ranks.values())
        # From the newest checkpoint, which may be of step 8 or later.
        steps = max(int(name[5:]) for name in os.listdir(folder) if re.fullmatch(r"step-\d+", name))
        self.assertGreaterEqual(steps, 4)
        before = job.losses()
        more = steps + 4
        resumed = self.train(plan, "--steps", str(more), "--resume", *options)
        exit_code, words = resumed.end()
        self.assertEqual(exit_code, 0, words)
        self.assertIn(f"going on at step {steps}", words)
        after = resumed.losses()
        self.assertEqual(sorted(after), list(range(more)))
        for step, loss in after.items():
            if step in whole:
                self.assertEqual(loss, whole[step], f"step {step}")
            if step in before:
                self.assertEqual(loss, before[step], f"step {step}")
        # Other layouts read the same checkpoint; their sums are rounded in another order.
        for pipeline, data, zero1 in ((1, 2, ()), (4, 1, ()), (2, 2, ("--zero1", "on"))):
            other = self.train(self.plan(pipeline, data, *zero1), "--steps", str(more + 1),
                               "--resume", "--checkpoints", folder,
                               name=f"other-{pipeline}-{data}")
            exit_code, words = other.end()
            self.assertEqual(exit_code, 0, words)
            more += 1

    def test_a_hanging_rank_is_named_at_the_time_out(self):
        job = self.train(self.plan(2, 1), "--steps", "100000", "--time-out", "5s")
        job.wait_for_step(5)
        ranks = children_of(job.process.pid)
        begin = time.monotonic()
        os.kill(ranks[1], signal.SIGSTOP)
        exit_code, words = job.end()
        took = time.monotonic() - begin
        self.assertEqual(exit_code, 3, words)
        self.check_named(words, 1, ranks[1])
        self.assertGreater(took, 4)
        self.assertLess(took, 60)
        self.check_gone(ranks.values())

    def test_asked_with_sigusr1_a_run_ends_with_a_checkpoint(self):
        plan = self.plan(2, 1)
        whole = self.losses_of_whole_run(plan, 8)
        folder = self.path("checkpoints")
        job = self.train(plan, "--steps", "100000", "--checkpoints", folder)
        job.wait_for_step(3)
        ranks = children_of(job.process.pid)
        job.process.send_signal(signal.SIGUSR1)
        exit_code, words = job.end()
        self.assertEqual(exit_code, 4, words)
        self.check_gone(ranks.values())
        done = len(job.losses())
        self.assertEqual(os.listdir(folder), [f"step-{done}"])
        before = job.losses()
        resumed = self.train(plan, "--steps", str(done + 2), "--checkpoints", folder, "--resume")
        exit_code, words = resumed.end()
        self.assertEqual(exit_code, 0, words)
        self.assertEqual(sorted(resumed.losses()), list(range(done + 2)))
        for step, loss in whole.items():
            if step in before:
                self.assertEqual(loss, before[step])

    def test_no_rank_outlives_a_killed_launcher(self):
        job = self.train(self.plan(2, 1), "--steps", "100000")
        job.wait_for_step(2)
        ranks = children_of(job.process.pid)
        self.assertEqual(sorted(ranks), [0, 1])
        job.process.kill()
        self.check_gone(ranks.values())


if __name__ == "__main__":
    PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
