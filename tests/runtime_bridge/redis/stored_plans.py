#!/usr/bin/python3
"""Ranks, a planner and a Redis as processes, some of which are killed.

    stored_plans.py PENSTOCK REDIS_SERVER [--kills N] [--seed S] [TEST...]

The small GPT of train_documents.py on two ranks, which take the plans of their steps from a Redis.
What counts is that losses and plans are those of a run that plans by itself, to the byte, whatever
is killed; that a run which cannot go on says why in time; and that one which resumes neither loses
nor doubles a document. ctest kills planner and Redis once each; by hand --kills 10 does it ten
times each, at moments that the seed draws.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../torch"))
import train_documents  # pylint: disable=wrong-import-position
import train_processes  # pylint: disable=wrong-import-position
from train_processes import LIMIT, wait_until  # pylint: disable=wrong-import-position

REDIS_SERVER, KILLS, SEED = "", 1, 1
STEPS = 40
PASSWORD = "a secret of the tests"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class StoredPlans(train_documents.TrainDocuments):
    def setUp(self):
        super().setUp()
        self.port, self.server, self.planners = free_port(), None, []
        with open(self.path("password"), "w", encoding="utf-8") as file:
            file.write(PASSWORD + "\n")
        self.start_server()
        self.plan = self.layout(2, 1)

    def start_server(self):
        self.server = subprocess.Popen(
            [REDIS_SERVER, "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
             "--appendonly", "no", "--dir", self.path(""), "--requirepass", PASSWORD],
            stdout=subprocess.DEVNULL)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)

    def store(self):
        return (f"redis://127.0.0.1:{self.port}", "--job", "small-gpt", "--store-password-file",
                self.path("password"))

    def start_planner(self, *options, documents="docs.jsonl"):
        planner = subprocess.Popen(
            [train_processes.PENSTOCK, "planner", self.plan, "--documents", self.path(documents),
             "--store", *self.store(), "--json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (planner.kill(), planner.communicate()))
        return planner

    def start_job(self, name, *options):
        job = subprocess.Popen(
            self.command(self.plan, name, "--plans-from", *self.store(), *options),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (job.kill(), job.communicate()))
        return job

    def keys_left(self):
        done = subprocess.run(
            [os.path.join(os.path.dirname(REDIS_SERVER), "redis-cli"), "-p", str(self.port), "--no-auth-warning",
             "-a", PASSWORD, "keys", "penstock:*"], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def end_of(self, process, exit_code=0):
        text, words = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, exit_code, words)
        return text, words

    def wait_for_step(self, name, job, step):
        wait_until(lambda: len(self.steps(name)) > step or job.poll() is not None, f"step {step}")

    def written(self, name):
        """When the statistics were, in ns."""
        try:
            return os.stat(self.path(f"{name}.steps.jsonl")).st_mtime_ns
        except FileNotFoundError:
            return 0

    def check_same_bytes(self, name, other):
        """Losses, documents and plans; not what was measured."""
        kept = []
        for each in (name, other):
            kept.append([json.dumps({"loss": step["loss"], "documents": step["documents"],
                                     "predicted": step["predicted_step_time_ns"],
                                     "plan": {key: value for key, value in step["plan"].items()
                                              if not key.startswith("planning")}})
                         for step in self.steps(each)])
        self.assertEqual(kept[0], kept[1])

    def test_plans_of_a_planner_are_those_of_the_ranks_whatever_is_killed(self):
        steps = ("--steps", str(STEPS), "--time-out", "60s")
        self.run_documents(self.plan, "own", *steps)
        planner = self.start_planner()
        job = self.start_job("hurt", *steps)
        drawn = random.Random(SEED)
        # The last ones so early that the job needs the planner behind them.
        moments = sorted(drawn.sample(range(1, STEPS - 15), 2 * KILLS))
        order = ["planner", "server"] * KILLS
        drawn.shuffle(order)
        for step, what in zip(moments, order):
            self.wait_for_step("hurt", job, step)
            time.sleep(drawn.random() * 0.05)
            if what == "planner":
                planner.kill()
                planner.wait()
                planner = self.start_planner()
            else:
                self.server.kill()
                self.server.wait()
                self.start_server()
        self.end_of(job)
        text, _ = self.end_of(planner)
        self.assertEqual(self.keys_left(), "")
        self.check_same_bytes("hurt", "own")
        self.check_epochs(self.steps("hurt"))
        self.assertEqual(json.loads(text)["next_step"], STEPS)
        print(f"\nkilled {list(zip(moments, order))}: {json.loads(text)}")

    def test_killed_ranks_lose_and_double_no_document(self):
        steps = ("--steps", str(STEPS))
        self.run_documents(self.plan, "own", *steps)
        planner = self.start_planner()
        drawn = random.Random(SEED)
        options = (*steps, "--checkpoints", self.path("checkpoints"), "--checkpoint-every", "3",
                   "--resume-if-any")
        killed, slowest = [], 0.0
        for step in sorted(drawn.sample(range(1, STEPS - 5), KILLS)):
            began = time.time_ns()
            job = self.start_job("hurt", *options)
            # Until it has begun to write again, and beyond the step.
            wait_until(lambda began=began, job=job: job.poll() is not None or self.written("hurt") > began,
                       "a start")
            self.wait_for_step("hurt", job, step)
            time.sleep(drawn.random() * 0.05)
            lost = drawn.randrange(2)
            self.assertIsNone(job.poll())
            os.kill(train_processes.children_of(job.pid)[lost], signal.SIGKILL)
            began = time.monotonic()
            _, words = self.end_of(job, 3)
            slowest = max(slowest, time.monotonic() - began)
            self.assertRegex(words, rf"rank {lost} \(pid \d+ on host [^)]*\) was lost in step \d+")
            killed.append((lost, len(self.steps("hurt"))))
        self.end_of(self.start_job("hurt", *options))
        text, _ = self.end_of(planner)
        self.assertEqual(self.keys_left(), "")
        self.check_same_bytes("hurt", "own")
        self.check_epochs(self.steps("hurt"))
        self.assertEqual(json.loads(text)["starts_of_the_job"], KILLS + 1)
        print(f"\nkilled (rank, steps done) {killed}, named after {slowest:.1f} s at most")

    def test_without_its_redis_a_job_says_so(self):
        if KILLS == 1:
            self.skipTest("by hand, with --kills: it waits for two time-outs")
        planner = self.start_planner("--time-out", "4s")
        job = self.start_job("hurt", "--steps", str(STEPS), "--plan-wait", "4s")
        self.wait_for_step("hurt", job, 5)
        self.server.kill()
        began = time.monotonic()
        _, words = self.end_of(job, 3)
        self.assertRegex(words, r"the plan of step \d+ was not in redis://127.0.0.1:\d+/0 within "
                                r"\d+\.\d s: ")
        self.assertLess(time.monotonic() - began, 30)
        self.assertIn("what is planned could not be left there", self.end_of(planner, 3)[1])

    def test_a_planner_waits_where_the_store_has_a_job_that_died_of_other_documents(self):
        planner = self.start_planner()
        job = self.start_job("killed", "--steps", str(STEPS))
        self.wait_for_step("killed", job, 2)
        for process in (*train_processes.children_of(job.pid).values(), job.pid, planner.pid):
            os.kill(process, signal.SIGKILL)
        job.communicate()
        planner.communicate()
        with open(self.path("docs.jsonl"), "a", encoding="utf-8") as file:
            file.write('{"text": "one more"}\n')
        planner = self.start_planner()
        wait_until(lambda: "may be left of one that has ended, so it is only a note: the planner has "
                           "another set of documents" in planner.stderr.readline(), "a note")
        self.end_of(self.start_job("anew", "--steps", "4"))
        self.end_of(planner)

    def test_without_its_planner_a_job_says_so_and_goes_on_with_the_next(self):
        folder = self.path("checkpoints")
        options = ("--steps", str(STEPS), "--checkpoints", folder, "--checkpoint-every", "5",
                   "--resume-if-any", "--plan-wait", "4s")
        self.run_documents(self.plan, "own", "--steps", str(STEPS))
        planner = self.start_planner()
        job = self.start_job("hurt", *options)
        self.wait_for_step("hurt", job, 10)
        process = planner.pid
        planner.kill()
        planner.wait()
        _, words = self.end_of(job, 3)
        said = re.search(r"the plan of step (\d+) was not in redis://127.0.0.1:\d+/0 within "
                         r"(\d+\.\d) s: the planner of job 'small-gpt' \(pid (\d+) on host [^)]*\) "
                         r"was last heard of (\d+\.\d) s ago, when it went on to step \d+\n"
                         r"help: start it again \(penstock planner", words)
        self.assertIsNotNone(said, words)
        self.assertEqual(int(said[3]), process)
        self.assertLess(float(said[2]), 20.0)
        # One without a planner, that makes the plans of some steps itself.
        again = self.start_job("hurt", *options, "--plan-if-late")
        self.wait_for_step("hurt", again, int(said[1]) + 2)
        again.send_signal(signal.SIGTERM)
        _, words = again.communicate(timeout=LIMIT)
        self.assertIn("is late, so it is made here: the plan of step", words)
        planner = self.start_planner()
        self.end_of(self.start_job("hurt", *options))
        self.end_of(planner)
        self.check_same_bytes("hurt", "own")
        self.check_epochs(self.steps("hurt"))

    def test_a_planner_with_other_documents_ends_and_the_job_with_it(self):
        with open(self.path("other.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"text": "other"}\n{"text": "documents"}\n')
        planner = self.start_planner(documents="other.jsonl")
        job = self.start_job("refused", "--steps", "4")
        _, words = self.end_of(planner, 2)
        self.assertIn("the planner has another set of documents than the job", words)
        _, words = job.communicate(timeout=LIMIT)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("has failed: the planner has another set of documents than the job", words)

    def test_a_store_that_cannot_be_used_is_said_before_ranks_start(self):
        def refusal(*options):
            return self.run_documents(self.plan, "refused", "--job", "j", "--plan-wait", "1s",
                                      *options, exit_code=3).stderr

        self.assertIn(": NOAUTH ", refusal("--plans-from", f"redis://127.0.0.1:{self.port}"))
        self.assertIn("cannot connect: Connection refused\nhelp: is it running",
                      refusal("--plans-from", f"redis://127.0.0.1:{free_port()}"))


# Those of documents without a store have run already.
for inherited in dir(train_documents.TrainDocuments):
    if inherited.startswith("test_"):
        setattr(StoredPlans, inherited, None)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("redis_server")
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    train_processes.PENSTOCK = os.path.abspath(arguments.penstock)
    REDIS_SERVER, KILLS, SEED = arguments.redis_server, arguments.kills, arguments.seed
    STEPS = max(STEPS, 8 * KILLS)
    unittest.main(argv=[sys.argv[0], *arguments.tests])
