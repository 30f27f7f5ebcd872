#!/usr/bin/python3
"""Runs on documents of different lengths, each step under a plan of its own.

    train_documents.py PENSTOCK [TEST...]

The small GPT of train_processes.py in double precision, with made-up times for several lengths. What
counts is that every layout has the losses of one process that computes each document in a
micro-batch of its own, that no document of an epoch is lost or doubled, and that a run whose ranks
are killed goes on as if they had not been.
"""

import json
import os
import random
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import train_processes  # pylint: disable=wrong-import-position
from train_processes import LIMIT, SEQUENCE, children_of, wait_until  # pylint: disable=wrong-import-position

DOCUMENTS = 40
TOKENS = "120"


def profile():
    """Times and bytes in proportion to samples times tokens, with a fixed part."""
    made = train_processes.profile("float64")
    row = made["section_types"][0]["measurements"][0]
    rows = []
    for tokens in (8, 16, SEQUENCE):
        for samples in (1, 8):
            size = samples * tokens
            each = dict(row, sequence_length=tokens, micro_batch_size=samples,
                        forward_ms=1 + size / 8, input_gradient_ms=1 + size / 8,
                        weight_gradient_ms=1 + size / 8, fused_backward_ms=2 + size / 4)
            for key in ("stash_bytes", "weight_stash_bytes", "working_peak_bytes",
                        "boundary_bytes"):
                each[key] = 1000 * size
            rows.append(each)
    made["section_types"][0]["measurements"] = rows
    return made


class TrainDocuments(train_processes.TrainingJobs):
    def setUp(self):
        super().setUp()
        drawn = random.Random(5)
        with open(self.path("docs.jsonl"), "w", encoding="utf-8") as file:
            for number in range(DOCUMENTS):
                length = 2 + drawn.randrange(SEQUENCE) * drawn.randrange(SEQUENCE) // SEQUENCE
                if number % 2:
                    words = "".join(drawn.choice("abcde ") for _ in range(length))
                    file.write(json.dumps({"text": words, "task": "made up"}) + "\n")
                else:
                    file.write(json.dumps({"tokens": [drawn.randrange(256)
                                                      for _ in range(length)]}) + "\n")

    def layout(self, pipeline, data, chunks=1, schedule="1f1b"):
        name = f"{pipeline}-{data}-{chunks}"
        plan, cluster = self.path(f"layout-{name}.json"), self.path(f"cluster-{name}.json")
        for path, value in ((self.path("profile.json"), profile()),
                            (cluster, train_processes.cluster(pipeline * data))):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(value, file)
        subprocess.run([train_processes.PENSTOCK, "plan", self.path("profile.json"), "--cluster",
                        cluster, "--for", "penstock",
                        "--global-batch", "8", "--schedule", schedule, "--pin",
                        f"P={pipeline},D={data},V={chunks},b=1", "-o", plan],
                       check=True, timeout=LIMIT, capture_output=True)
        return plan

    def command(self, plan, name, *options, tokens=TOKENS):
        return [train_processes.PENSTOCK, "train", plan, "--documents", self.path("docs.jsonl"),
                "--tokens-per-batch", tokens, "--no-pinning", "--log", self.path(f"{name}.jsonl"),
                "--statistics", self.path(f"{name}.steps.jsonl"), "--replays", "20", *options]

    def run_documents(self, plan, name, *options, exit_code=0, tokens=TOKENS):
        ended = subprocess.run(self.command(plan, name, *options, tokens=tokens), timeout=LIMIT,
                               capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, exit_code, ended.stderr)
        return ended

    def steps(self, name):
        """Lines of the statistics that are whole."""
        try:
            with open(self.path(f"{name}.steps.jsonl"), encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []

    def leave_torn_line(self, name, checkpoints):
        """As if the run had died while it wrote of the first step behind its newest checkpoint."""
        first = max(int(step.removeprefix("step-")) for step in os.listdir(checkpoints)
                    if step.removeprefix("step-").isdigit())
        path = self.path(f"{name}.steps.jsonl")
        with open(path, encoding="utf-8") as file:
            kept = file.read().split("\n")[:first]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*kept, '{"step": ' + str(first) + ', "lo']))

    def check_epochs(self, steps):
        """Each document once in each epoch, in the order of the steps."""
        self.assertEqual([step["step"] for step in steps], list(range(len(steps))))
        taken = [document for step in steps for document in step["documents"]]
        for epoch in range(len(taken) // DOCUMENTS):
            self.assertEqual(sorted(taken[epoch * DOCUMENTS:(epoch + 1) * DOCUMENTS]),
                             list(range(DOCUMENTS)), f"epoch {epoch}")
        self.assertGreater(len(taken), DOCUMENTS)
        for step in steps:
            plan = step["plan"]
            placed = [sample for replica in plan["replicas"] for micro_batch in replica
                      for sample in micro_batch["sample_ids"]]
            self.assertEqual(sorted(placed), list(range(len(step["documents"]))))
            weights = [micro_batch["loss_weight"] for replica in plan["replicas"]
                       for micro_batch in replica]
            self.assertAlmostEqual(sum(weights), 1.0, places=12)

    def check_same(self, steps, expected):
        self.assertEqual(len(steps), len(expected))
        for one, other in zip(steps, expected):
            self.assertEqual(one["documents"], other["documents"])
            self.assertLessEqual(abs(one["loss"] - other["loss"]), 1e-10 * other["loss"],
                                 f"step {one['step']}")

    def test_every_layout_has_the_losses_of_one_process(self):
        count = ("--steps", "12")
        # Lengths as they are, one rank: micro-batches of documents of equal length.
        self.run_documents(self.layout(1, 1), "alone", "--pad-to", "1", *count)
        alone = self.steps("alone")
        self.check_epochs(alone)
        for pipeline, data, chunks, schedules, options in (
                (2, 1, 1, "cyclic", ()), (1, 2, 1, "1f1b", ("--planner-threads", "2")),
                (2, 2, 1, "zb-h1,cyclic", ("--transport", "loopback", "--plan-ahead", "0")),
                (2, 1, 2, "interleaved-zb", ("--transport", "loopback", "--pad-to", "32"))):
            name = f"layout-{pipeline}-{data}-{chunks}"
            ended = self.run_documents(
                self.layout(pipeline, data, chunks,
                            "interleaved" if chunks > 1 else "1f1b"), name, "--schedule",
                schedules, *options, *count)
            self.check_same(self.steps(name), alone)
            self.assertIn("tokens are no padding", ended.stdout)
            self.assertIn("memory of micro-batches: at most ", ended.stdout)

    def test_ranks_that_are_killed_lose_and_double_no_document(self):
        steps = 60
        plan, folder = self.layout(2, 1), self.path("checkpoints")
        self.run_documents(plan, "whole", "--steps", str(steps))
        options = ("--steps", str(steps), "--checkpoints", folder, "--checkpoint-every", "7",
                   "--resume-if-any")
        drawn = random.Random(11)
        for lost, after in ((1, 5 + drawn.randrange(10)), (0, 25 + drawn.randrange(10))):
            job = subprocess.Popen(self.command(plan, "hurt", *options), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
            self.addCleanup(job.kill)
            wait_until(lambda after=after, job=job: len(self.steps("hurt")) > after or
                       job.poll() is not None, f"step {after}")
            if job.poll() is None:
                os.kill(children_of(job.pid)[lost], signal.SIGKILL)
            _, words = job.communicate(timeout=LIMIT)
            self.assertEqual(job.returncode, 3, words)
            self.assertRegex(words, rf"rank {lost} \(pid \d+ on host [^)]*\) was lost in step \d+")
        self.leave_torn_line("hurt", folder)
        self.run_documents(plan, "hurt", *options)
        self.check_epochs(self.steps("hurt"))
        self.check_same(self.steps("hurt"), self.steps("whole"))

    def test_what_cannot_be_trained_so_is_refused(self):
        plan = self.layout(1, 1)

        def refusal(*options):
            return self.run_documents(plan, "refused", *options, exit_code=2).stderr

        self.assertIn("--then: every step of documents has its own plan", refusal("--then", "1:a"))
        self.assertIn("--max-length: 64 is longer than what was measured: 33", refusal("--max-length", "64"))
        self.assertIn("schedule 'gpipe' is not one that batches", refusal("--schedule", "gpipe"))
        self.run_documents(plan, "begun", "--steps", "2", "--checkpoints", self.path("checkpoints"))
        self.assertIn("/tokens_per_batch: the checkpoint was made with the global batch 120 tokens, "
                      "this run has 90 tokens", self.run_documents(
                          plan, "begun", "--steps", "4", "--checkpoints", self.path("checkpoints"),
                          "--resume", exit_code=2, tokens="90").stderr)


if __name__ == "__main__":
    train_processes.PENSTOCK = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
