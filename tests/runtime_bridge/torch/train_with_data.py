#!/usr/bin/python3
"""Whole runs on data, schedules and evaluations as people use them.

    train_with_data.py PENSTOCK [TEST...]

The same small GPT as in train_processes.py. What counts: which samples a run takes, over resumes
and other layouts; that what cannot be data is refused before anything starts.
"""

import array
import collections
import json
import os
import random
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import train_processes  # pylint: disable=wrong-import-position
from train_processes import SEQUENCE  # pylint: disable=wrong-import-position

SAMPLES = 13


def tokens(count, seed=1):
    draw = random.Random(seed)
    return [draw.randrange(256) for _ in range(count)]


class TrainWithData(train_processes.TrainingJobs):
    def write_tokens(self, name, ids, kind="H"):
        with open(self.path(name), "wb") as file:
            array.array(kind, ids).tofile(file)

    def test_two_epochs_take_every_sample_twice_over_resumes_and_other_layouts(self):
        # Weights that do not change, one sample per step: a loss names its sample.
        self.write_tokens("tokens.bin", tokens(SAMPLES * SEQUENCE + 1))
        options = ("--dtype", "uint16", "--learning-rate", "0", "--checkpoints",
                   self.path("checkpoints"), "--transport", "loopback")
        losses = {}
        for number, (layout, end) in enumerate((((1, 1), 5), ((2, 1), 17),
                                                ((4, 1, "gpipe"), 2 * SAMPLES))):
            resume = ("--resume",) if number else ()
            part, _ = self.run_to_end(self.plan(*layout, batch=1, precision="float64"), "--steps",
                                      str(end), *resume, *options, name=f"part-{number}",
                                      data="tokens.bin")
            losses |= part
        self.assertEqual(sorted(losses), list(range(2 * SAMPLES)))
        for epoch in range(2):
            seen = {f"{losses[step]:.9f}" for step in range(epoch * SAMPLES, (epoch + 1) * SAMPLES)}
            self.assertEqual(len(seen), SAMPLES, f"epoch {epoch}")
        times = collections.Counter(f"{loss:.9f}" for loss in losses.values())
        self.assertEqual(set(times.values()), {2})
        with open(self.path(f"checkpoints/step-{2 * SAMPLES}/manifest.json"),
                  encoding="utf-8") as file:
            self.assertEqual(json.load(file)["data"]["taken"], 2 * SAMPLES)

    def test_replicas_and_processes_take_the_samples_of_one_process(self):
        # 26 samples in two files: steps of 8 cross the files and the epochs.
        self.write_tokens("a.bin", tokens(SAMPLES * SEQUENCE + 1), "i")
        self.write_tokens("b.bin", tokens(SAMPLES * SEQUENCE + 7, seed=2), "i")
        options = ("--dtype", "int32")
        alone = self.plan(1, 1, precision="float64")
        whole, _ = self.run_to_end(alone, "--steps", "7", *options, name="alone", data="*.bin")
        options += ("--checkpoints", self.path("checkpoints"))
        first, _ = self.run_to_end(self.plan(1, 2, zero1=True, precision="float64"), "--steps", "3",
                                   *options, name="first", data="*.bin")
        then, _ = self.run_to_end(self.plan(2, 2, precision="float64"), "--steps", "7", "--resume",
                                  "--transport", "loopback", *options, name="then", data="*.bin")
        self.assertEqual(sorted(first | then), list(range(7)))
        for step, loss in (first | then).items():
            self.assertLessEqual(abs(loss - whole[step]), 1e-10 * whole[step], f"step {step}")

    def test_other_data_begin_at_their_beginning(self):
        self.write_tokens("a.bin", tokens(SAMPLES * SEQUENCE + 1))
        self.write_tokens("b.bin", tokens(SAMPLES * SEQUENCE + 1, seed=2))
        plan = self.plan(1, 1)
        options = ("--dtype", "uint16", "--checkpoints", self.path("checkpoints"))
        self.run_to_end(plan, "--steps", "2", *options, data="a.bin")
        self.assertIn("/data: the checkpoint was made with the data ",
                      self.refusal(plan, "--steps", "3", "--resume", *options, data="b.bin"))
        self.run_to_end(plan, "--steps", "3", "--resume", "--may-change", "data", *options,
                        data="b.bin", name="changed")
        with open(self.path("checkpoints/step-3/manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        self.assertEqual((manifest["samples"], manifest["data"]["taken"]), (24, 8))

    def test_what_cannot_be_data_is_refused_before_ranks_start(self):
        plan = self.plan(2, 1)
        self.write_tokens("tokens.bin", tokens(1000))
        words = self.refusal(plan, data="tokens.bin")
        self.assertIn(": is not a text: its byte 1 is 0; its bytes would be used as tokens\nhelp: "
                      "give the type of its token ids: --dtype uint16, int32 or int64", words)
        self.assertEqual(words.count("error: "), 1, words)
        ids = tokens(1000)
        ids[700] = 50256
        self.write_tokens("large.bin", ids)
        words = self.refusal(plan, "--dtype", "uint16", data="large.bin")
        self.assertIn("large.bin: token 700, at byte 1400, is 50256; the model's vocabulary is 0 to "
                      "255", words)
        self.assertEqual(words.count("error: "), 1, words)
        # Two tokens read as one.
        self.assertIn("large.bin: token 0, at byte 0, is ",
                      self.refusal(plan, "--dtype", "int32", data="large.bin"))

    def test_an_evaluation_has_the_loss_of_a_plain_loop_over_the_file(self):
        self.write_tokens("train.bin", tokens(40 * SEQUENCE + 1))
        self.write_tokens("judge.bin", tokens(24 * SEQUENCE + 1, seed=2))
        # Weights that do not change: one epoch over the file, step by step, is the plain loop.
        options = ("--dtype", "uint16", "--learning-rate", "0", "--steps", "3")
        plain, _ = self.run_to_end(self.plan(1, 1, precision="float64"), *options, name="plain",
                                   data="judge.bin")
        expected = sum(plain.values()) / 3
        for name, transport, layout in (("processes", "gloo", (2, 1)),
                                        ("threads", "loopback", (2, 2, "zb-h1"))):
            self.run_to_end(self.plan(*layout, precision="float64"), *options,
                            "--validation-data", self.path("judge.bin"), "--eval-every", "2",
                            "--transport", transport, name=name, data="train.bin")
            with open(self.path(f"{name}.jsonl"), encoding="utf-8") as file:
                steps = [json.loads(line) for line in file][1:]
            self.assertEqual([step["step"] for step in steps if "evaluation_loss" in step], [1, 2])
            for step in steps[1:]:
                self.assertLessEqual(abs(step["evaluation_loss"] - expected), 1e-10 * expected)
        words = self.refusal(self.plan(1, 1), "--dtype", "uint16", "--validation-fraction", "0.1",
                             "--eval-every", "1", data="train.bin")
        self.assertIn("an evaluation of one batch takes 8 samples, but the validation data hold 4",
                      words)

    def test_a_schedule_is_kept_by_checkpoints_and_a_change_of_it_is_said(self):
        plan = self.plan(1, 1, precision="float64")
        schedule = ("--lr-schedule", "cosine", "--warmup-steps", "2", "--min-lr", "0.0001")
        whole, _ = self.run_to_end(plan, "--steps", "6", *schedule, name="whole")
        options = ("--checkpoints", self.path("checkpoints"))
        begun, _ = self.run_to_end(plan, "--steps", "3", "--lr-decay-steps", "6", *schedule,
                                   *options, name="begun")
        went_on, words = self.run_to_end(plan, "--steps", "6", "--resume", *options, name="went-on")
        self.assertEqual(whole, begun | went_on)
        self.assertEqual(words.count("note: "), 1, words)
        _, words = self.run_to_end(plan, "--steps", "8", "--resume", "--lr-schedule", "linear",
                                   "--beta2", "0.99", *options, name="changed")
        for note in ("the schedule of the learning rate is linear from here on; the checkpoint was "
                     "made with cosine", "beta2 is 0.99 from here on; the checkpoint was made with "
                     "0.95", "the learning rate falls until step 6, as the checkpoint says, and the "
                     "run ends at step 8; --lr-decay-steps changes that"):
            self.assertEqual(words.count(f"note: {note}"), 1, words)

    def test_resume_if_any_is_one_command_for_every_start(self):
        plan = self.plan(1, 1)
        options = ("--checkpoints", self.path("checkpoints"), "--resume-if-any")
        begun, words = self.run_to_end(plan, "--steps", "2", "--learning-rate", "0.01", *options,
                                       name="begun")
        self.assertIn("note: no checkpoint in " + self.path("checkpoints") +
                      " yet: the run begins at step 0", words)
        self.assertEqual(sorted(begun), [0, 1])
        went_on, words = self.run_to_end(plan, "--steps", "4", *options, name="went-on")
        self.assertEqual(words.count("note: continuing at step 2"), 1, words)
        self.assertEqual(sorted(went_on), [2, 3])
        # A damaged folder is no empty one.
        os.truncate(self.path("checkpoints/step-4/manifest.json"), 10)
        os.truncate(self.path("checkpoints/step-2/manifest.json"), 10)
        self.assertIn("there is no complete checkpoint in ",
                      self.refusal(plan, "--steps", "5", *options))

    def tool(self, name, *arguments):
        tools = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools")
        said = subprocess.run([sys.executable, os.path.join(tools, name), *arguments],
                              capture_output=True, text=True, check=False,
                              timeout=train_processes.LIMIT)
        self.assertEqual(said.returncode, 0, said.stderr)
        return said.stdout

    def evaluated(self, name):
        with open(self.path(f"{name}.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file][-1]["evaluation_loss"]

    def test_a_checkpoint_becomes_a_state_dict_and_one_a_checkpoint(self):
        self.write_tokens("train.bin", tokens(40 * SEQUENCE + 1))
        options = ("--dtype", "uint16", "--validation-fraction", "0.3", "--eval-every", "9",
                   "--transport", "loopback")
        # In parts: of each weight two replicas hold one half of the moments.
        self.run_to_end(self.plan(2, 2, zero1=True, precision="float64"), "--steps", "3",
                        "--checkpoints", self.path("begun"), *options, name="begun",
                        data="train.bin")
        state, again = self.path("state.safetensors"), self.path("again.safetensors")
        words = self.tool("checkpoint_to_state_dict.py", self.path("begun"), state)
        self.assertIn(": 29 tensors, ", words)
        with open(state, "rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        self.assertEqual(header["blocks.1.attention.qkv.weight"]["shape"], [96, 32])
        self.assertEqual(header["head.weight"]["dtype"], "F64")
        # Back, and trained on with weights that do not change: judged as before.
        words = self.tool("state_dict_to_checkpoint.py", state, self.path("new"), "--like",
                          self.path("begun"))
        self.assertIn(f"29 tensors of {state}\n", words)
        self.run_to_end(self.plan(1, 1, precision="float64"), "--steps", "1", "--resume",
                        "--learning-rate", "0", "--checkpoints", self.path("new"), *options,
                        name="new", data="train.bin")
        self.assertLessEqual(abs(self.evaluated("new") - self.evaluated("begun")), 1e-12)
        self.tool("checkpoint_to_state_dict.py", self.path("new"), again)
        with open(state, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_event_files_hold_what_the_log_holds(self):
        try:
            import event_files  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("python3-protobuf is not installed")
        self.write_tokens("train.bin", tokens(40 * SEQUENCE + 1))
        plan = self.plan(2, 1)
        options = ("--dtype", "uint16", "--validation-fraction", "0.3", "--eval-every", "2",
                   "--lr-schedule", "linear", "--lr-decay-steps", "6", "--tensorboard",
                   self.path("curves"), "--checkpoints", self.path("checkpoints"), "--transport",
                   "loopback")
        self.run_to_end(plan, "--steps", "3", *options, data="train.bin")
        # As if a machine whose clock is ahead had begun: the file that goes on still comes last.
        begun, = os.listdir(self.path("curves"))
        *kind, second, rest = begun.split(".", 4)
        later = ".".join([*kind, f"{int(second) + 1000:010}", rest])
        os.rename(self.path(f"curves/{begun}"), self.path(f"curves/{later}"))
        self.run_to_end(plan, "--steps", "6", "--resume", *options, data="train.bin")
        with open(self.path("run.jsonl"), encoding="utf-8") as file:
            steps = [json.loads(line) for line in file][1:]
        first, second = [list(event_files.events(self.path(f"curves/{name}")))
                         for name in sorted(os.listdir(self.path("curves")))]
        self.assertEqual(first[0].file_version, "brain.Event:2")
        self.assertEqual((second[1].step, second[1].session_log.status), (3, 1))
        events = first[1:] + second[2:]
        self.assertEqual([event.step for event in events], list(range(6)))
        for step, event in zip(steps, events):
            scalars = {value.tag: value.simple_value for value in event.summary.value}
            expected = {"train/loss": step["loss"], "train/gradient_norm": step["gradient_norm"],
                        "train/learning_rate": step["learning_rate"],
                        "speed/step_seconds": step["step_time_ns"] * 1e-9,
                        "speed/tokens_per_second": step["tokens"] / step["step_time_ns"] * 1e9}
            if "evaluation_loss" in step:
                expected["validation/loss"] = step["evaluation_loss"]
            self.assertEqual(sorted(scalars), sorted(expected))
            for tag, value in expected.items():
                self.assertAlmostEqual(scalars[tag] / value, 1.0, places=6)


if __name__ == "__main__":
    train_processes.PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
