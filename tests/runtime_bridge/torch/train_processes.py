#!/usr/bin/python3
"""Jobs of real processes that are hurt while they train.

    train_processes.py PENSTOCK [TEST...]

A small GPT on two to four ranks of this machine, over Gloo. Ranks and launcher are killed, stopped
and asked to end in the middle of a run; what counts is who is named, how soon, that no process is
left, and that a resumed run has the losses of one that nobody hurt. Runs that go on under another
layout have the losses of one process that was never interrupted. Nothing here waits without a limit.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
import small_gpt  # pylint: disable=wrong-import-position

PENSTOCK = ""
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../data/schemas",
                      "penstock.checkpoint-1.schema.json")
SOURCE = "made up for tests/runtime_bridge/torch/train_processes.py"
LIMIT = 120  # seconds for anything; a machine may be busy
LAYERS = 2
SEQUENCE = 32


def profile(precision="float32"):
    return small_gpt.profile(SOURCE, LAYERS, SEQUENCE, precision)


def cluster(devices):
    return small_gpt.cluster(SOURCE, "this machine", devices)


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

    def __init__(self, folder, plan, *options, name="run", data="data.txt", pinned=False):
        self.log = os.path.join(folder, f"{name}.jsonl")
        self.process = subprocess.Popen(
            [PENSTOCK, "train", plan, "--data", os.path.join(folder, data), "--log", self.log,
             *([] if pinned else ["--no-pinning"]), *options],
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


class InOneFolder(unittest.TestCase):
    """Tests that share a folder of files, which a class writes before the first of them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        with open(cls.at("corpus.txt"), "w", encoding="utf-8") as file:
            file.write(SOURCE * 100)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def at(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def write(cls, files):
        for name, content in files.items():
            with open(cls.at(name), "w", encoding="utf-8") as file:
                json.dump(content, file)


class TrainingJobs(unittest.TestCase):
    """What tests of whole runs need; train_with_data.py has more of them."""

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

    plans = {}  # texts, of all tests

    def plan(self, *layout, **options):
        key = (layout, tuple(sorted(options.items())))
        plan = self.path(f"plan-{abs(hash(key))}.json")
        if key not in self.plans:
            self.make_plan(plan, *layout, **options)
            with open(plan, encoding="utf-8") as file:
                self.plans[key] = file.read()
        with open(plan, "w", encoding="utf-8") as file:
            file.write(self.plans[key])
        return plan

    def make_plan(self, plan, pipeline, data, schedule="1f1b", chunks=1, zero1=False, batch=8,
                  precision="float32"):
        for name, value in (("profile", profile(precision)), ("cluster", cluster(pipeline * data))):
            with open(self.path(f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(value, file)
        sharding = (["--sharding", zero1] if isinstance(zero1, str) else
                    ["--zero1", "on" if zero1 else "off"])
        subprocess.run([PENSTOCK, "plan", self.path("profile.json"), "--cluster",
                        self.path("cluster.json"), "--for", "penstock", "--global-batch",
                        str(batch), "--schedule", schedule, "--pin",
                        f"P={pipeline},D={data},V={chunks},b=1", *sharding, "-o", plan],
                       check=True, timeout=LIMIT, capture_output=True)

    def train(self, plan, *options, name="run", data="data.txt"):
        job = Job(self.folder, plan, *options, name=name, data=data)
        self.jobs.append(job)
        return job

    def run_to_end(self, plan, *options, exit_code=0, **names):
        """Its losses and what it said."""
        job = self.train(plan, *options, **names)
        ended, words = job.end()
        self.assertEqual(ended, exit_code, words)
        return job.losses(), words

    def losses_of_whole_run(self, plan, steps):
        job = self.train(plan, "--steps", str(steps), name="whole")
        exit_code, words = job.end()
        self.assertEqual(exit_code, 0, words)
        losses = job.losses()
        self.assertEqual(sorted(losses), list(range(steps)))
        return losses

    def refusal(self, plan, *options, **names):
        _, words = self.run_to_end(plan, *options, exit_code=2, **names)
        return words


class TrainProcesses(TrainingJobs):
    def check_gone(self, processes):
        wait_until(lambda: not any(map(is_running, processes)), "the end of all processes")

    def check_named(self, words, rank, process):
        self.assertRegex(words, rf"rank {rank} \(pid {process} on host [^)]*\) was lost in step "
                                r"\d+: no heartbeat for \d+\.\d s; the others stopped")

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
        self.assertIn(f"continuing at step {steps}", words)
        after = resumed.losses()
        self.assertEqual(sorted(after), list(range(more)))
        for step, loss in after.items():
            if step in whole:
                self.assertEqual(loss, whole[step], f"step {step}")
            if step in before:
                self.assertEqual(loss, before[step], f"step {step}")
        # Other layouts read the same checkpoint; their sums are rounded in another order.
        for pipeline, data, zero1 in ((1, 2, False), (4, 1, False), (2, 2, True)):
            other = self.train(self.plan(pipeline, data, zero1=zero1), "--steps", str(more + 1),
                               "--resume", "--checkpoints", folder,
                               name=f"other-{pipeline}-{data}")
            exit_code, words = other.end()
            self.assertEqual(exit_code, 0, words)
            more += 1

    def newest(self, folder):
        return max((int(name[5:]) for name in os.listdir(folder)
                    if re.fullmatch(r"step-\d+", name)), default=-1)

    def test_a_killed_rank_costs_no_finished_step_where_the_others_hold_the_model(self):
        plan = self.plan(2, 2)
        whole = self.losses_of_whole_run(plan, 40)
        done, folder = 0, self.path("checkpoints")
        # Rank 0 writes the log: what it cannot tell any more is in the checkpoint.
        for lost in (3, 0, 1):
            job = self.train(plan, "--steps", "100000", "--checkpoints", folder,
                             "--resume-if-any", name="hurt")
            job.wait_for_step(done + 3)
            ranks = children_of(job.process.pid)
            os.kill(ranks[lost], signal.SIGKILL)
            exit_code, words = job.end()
            self.assertEqual(exit_code, 3, words)
            survivors = [rank for rank in range(4) if rank != lost]
            self.assertIn(f"by ranks {survivors[0]}, {survivors[1]} and {survivors[2]}: "
                          "no finished step is lost", words)
            self.check_named(words, lost, ranks[lost])
            self.check_gone(ranks.values())
            done = self.newest(folder)
            finished = len(job.losses())
            self.assertIn(f"emergency checkpoint of all {done} finished steps", words)
            self.assertIn(done, (finished, finished + 1) if lost == 0 else (finished,), words)
            if done > 25:
                break
        last, words = self.run_to_end(plan, "--steps", str(done + 2), "--checkpoints", folder,
                                      "--resume", name="hurt")
        self.assertEqual(sorted(last), list(range(done + 2)))
        for step, loss in last.items():
            if step in whole:
                self.assertEqual(loss, whole[step], f"step {step}")

    def test_where_a_stage_is_gone_there_is_no_emergency_checkpoint_and_it_is_said(self):
        for layout, zero1, said in (((2, 1), False, r"rank 1 alone held '\S+' of section \d"),
                                    ((1, 2), True, r"rank 1 alone held the optimizer's part of ")):
            folder = self.path(f"checkpoints-{zero1}")
            job = self.train(self.plan(*layout, zero1=zero1), "--steps", "100000",
                             "--checkpoints", folder, name=f"gone-{zero1}")
            job.wait_for_step(3)
            os.kill(children_of(job.process.pid)[1], signal.SIGKILL)
            exit_code, words = job.end()
            self.assertEqual(exit_code, 3, words)
            # In the middle of an update of divided state there is no common step either.
            self.assertRegex(words, "note: no emergency checkpoint: the survivors (do not hold the "
                                    "whole model: " + said + "|have no step in common: )")
            self.assertEqual(self.newest(folder) if os.path.exists(folder) else -1, -1)

    def test_with_copies_in_memory_a_lost_stage_costs_no_finished_step(self):
        for layout, zero1 in (((2, 1), False), ((1, 2), "fsdp")):
            name = f"copies-{zero1}"
            plan, folder = self.plan(*layout, zero1=zero1), self.path(f"checkpoints-{name}")
            whole = self.losses_of_whole_run(plan, 30)
            job = self.train(plan, "--steps", "100000", "--checkpoints", folder, "--mirror",
                             name=name)
            job.wait_for_step(3)
            os.kill(children_of(job.process.pid)[1], signal.SIGKILL)
            exit_code, words = job.end()
            self.assertEqual(exit_code, 3, words)
            done = len(job.losses())
            self.assertIn(f"emergency checkpoint of all {done} finished steps, by rank 0", words)
            self.assertEqual(self.newest(folder), done)
            # Under another layout, so that every part is read.
            last, words = self.run_to_end(self.plan(1, 1), "--steps", str(done + 2),
                                          "--checkpoints", folder, "--resume", name=name)
            self.assertEqual(sorted(last), list(range(done + 2)))
            for step, loss in last.items():
                if step in whole:
                    self.assertLessEqual(abs(loss - whole[step]), 1e-5 * whole[step], f"step {step}")

    def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(self):
        plan, folder = self.plan(2, 1), self.path("checkpoints")
        job = self.train(plan, "--steps", "100000", "--checkpoints", folder,
                         "--checkpoint-every", "5")
        wait_until(lambda: os.path.exists(folder) and self.newest(folder) >= 5, "a checkpoint")
        # A file in place of the folder: nothing can be written there.
        os.rename(folder, folder + ".away")
        with open(folder, "w", encoding="utf-8"):
            pass
        step = len(job.losses())
        job.wait_for_step(step + 15)
        os.remove(folder)
        os.rename(folder + ".away", folder)
        before = self.newest(folder)
        wait_until(lambda: self.newest(folder) > before, "a newer checkpoint")
        job.process.send_signal(signal.SIGUSR1)
        exit_code, words = job.end()
        self.assertEqual(exit_code, 4, words)
        self.assertRegex(words, r"note: the checkpoint of step \d+ was not written: ")
        self.assertIn("note: the run continues; checkpoints before it stay", words)
        self.assertEqual(self.newest(folder), len(job.losses()))

    def test_a_damaged_checkpoint_is_set_aside_and_the_run_goes_on_from_the_one_before(self):
        for layout, name in (((2, 1), "processes"), ((1, 1), "alone")):
            plan, folder = self.plan(*layout), self.path(f"checkpoints-{name}")
            options = ("--checkpoints", folder, "--checkpoint-every", "4")
            whole, _ = self.run_to_end(plan, "--steps", "8", *options, name=f"whole-{name}")
            path = os.path.join(folder, "step-8", "section-1.optimizer-0-of-1.safetensors")
            with open(path, "r+b") as file:
                file.seek(-3, os.SEEK_END)
                byte = file.read(1)[0]
                file.seek(-3, os.SEEK_END)
                file.write(bytes([byte ^ 1]))
            again, words = self.run_to_end(plan, "--steps", "10", "--resume-if-any", *options,
                                           name=f"again-{name}")
            self.assertIn("does not match its checksum", words)
            self.assertIn("note: continuing at step 4", words)
            self.assertTrue(os.path.isdir(os.path.join(folder, "step-8.damaged")))
            self.assertEqual(sorted(again), [4, 5, 6, 7, 8, 9])
            for step in (4, 5, 6, 7):
                self.assertEqual(again[step], whole[step])

    def test_checkpoints_come_at_the_interval_that_their_cost_and_losses_ask_for(self):
        folder = self.path("checkpoints")
        _, words = self.run_to_end(self.plan(2, 1), "--steps", "60", "--checkpoints", folder,
                                   "--checkpoint-every", "auto", "--between-failures", "1s")
        self.assertRegex(words, r"note: a checkpoint stops training for \S+ \S+ and takes "
                                r"\S+ \S+: one every \S+ ")
        self.assertEqual(self.newest(folder), 60)

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

    def test_asked_with_sigusr2_a_run_writes_a_checkpoint_and_goes_on(self):
        folder = self.path("checkpoints")
        job = self.train(self.plan(2, 1), "--steps", "100000", "--checkpoints", folder)
        job.wait_for_step(3)
        job.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: os.path.isdir(folder)
                   and any(re.fullmatch(r"step-\d+", name) for name in os.listdir(folder)),
                   "a checkpoint")
        job.wait_for_step(max(job.losses()) + 3)

    def test_two_jobs_on_one_machine_do_not_pin_to_the_same_processors(self):
        plan = self.plan(2, 1)
        usable = os.sched_getaffinity(0)
        pinned = []
        for name in ("first", "second"):
            job = Job(self.folder, plan, "--steps", "100000", name=name, pinned=True)
            self.jobs.append(job)
            job.wait_for_step(1)
            pinned.append([os.sched_getaffinity(p) for p in children_of(job.process.pid).values()])
        first, second = pinned
        self.assertEqual([len(rank) for rank in first], [1, 1])
        # What the first has is not for the second; where nothing is left, its ranks are not pinned.
        for rank in second:
            self.assertTrue(rank == usable or not rank & set.union(*first), f"{first} {second}")

    def test_no_rank_outlives_a_killed_launcher(self):
        job = self.train(self.plan(2, 1), "--steps", "100000")
        job.wait_for_step(2)
        ranks = children_of(job.process.pid)
        self.assertEqual(sorted(ranks), [0, 1])
        job.process.kill()
        self.check_gone(ranks.values())

    def meet(self, plan, name, *options):
        """Two launchers with two ranks each, as on two machines."""
        folder = self.path(name)
        os.mkdir(folder)
        jobs = [self.train(plan, "--steps", "100000", "--ranks-here", ranks, "--meet", folder,
                           "--address", address, *options, name=name)
                for ranks, address in (("0-1", "127.0.0.2"), ("2-3", "127.0.0.3"))]
        for job in jobs:
            job.wait_for_step(3)
        return folder, jobs

    def test_two_launchers_run_one_job_and_say_how_their_ranks_ended(self):
        plan = self.plan(2, 2)
        whole = self.losses_of_whole_run(plan, 4)
        folder, jobs = self.meet(plan, "meet", "--checkpoints", self.path("checkpoints"))
        for step, loss in whole.items():
            self.assertEqual(jobs[0].losses().get(step, loss), loss)
        jobs[1].process.send_signal(signal.SIGUSR1)  # the ranks of all machines agree to end
        for job, name in zip(jobs, ("ranks-0-1.json", "ranks-2-3.json")):
            exit_code, words = job.end()
            self.assertEqual(exit_code, 4, words)
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                said = json.load(file)
            self.assertEqual(said["running"], [])
            self.assertEqual([end["exit_code"] for end in said["ended"]], [4, 4])

    def test_a_machine_that_is_lost_ends_the_job_and_a_start_that_is_given_up_ends_at_once(self):
        plan = self.plan(2, 2)
        checkpoints = self.path("lost-checkpoints")
        _, jobs = self.meet(plan, "lost", "--checkpoints", checkpoints)
        ranks = children_of(jobs[0].process.pid)
        jobs[0].process.kill()  # and the store with it: the others agree through a folder
        exit_code, words = jobs[1].end()
        self.assertEqual(exit_code, 3, words)
        done = self.newest(checkpoints)
        self.assertIn(f"emergency checkpoint of all {done} finished steps, by ranks 2 and 3: no "
                      "finished step is lost", words)
        self.assertGreaterEqual(done, len(jobs[0].losses()))
        self.assertRegex(words, r"error: rank 0 was lost in step \d+: no heartbeat since the job's "
                                r"store was lost; rank 1 was lost in step \d+: no heartbeat since")
        self.check_gone(ranks.values())
        folder, jobs = self.meet(plan, "given-up")
        ranks = [*children_of(jobs[0].process.pid).values(),
                 *children_of(jobs[1].process.pid).values()]
        self.assertEqual(len(ranks), 4)
        with open(os.path.join(folder, "given_up"), "w", encoding="utf-8"):
            pass
        for job in jobs:
            job.end()
        self.check_gone(ranks)

    def check_resumed(self, precision, tolerance, *moves):
        """Ten steps of one layout, ten more of another, against twenty of one process."""
        alone = self.plan(1, 1, precision=precision)
        whole, _ = self.run_to_end(alone, "--steps", "20", name=f"alone-{precision}")
        for number, (transport, first, then) in enumerate(moves):
            options = ("--checkpoints", self.path(f"checkpoints-{precision}-{number}"),
                       "--transport", transport)
            begun, _ = self.run_to_end(self.plan(*first, precision=precision), "--steps", "10",
                                       *options, name=f"begun-{precision}-{number}")
            went_on, words = self.run_to_end(self.plan(*then, precision=precision), "--steps",
                                             "20", "--resume", *options,
                                             name=f"on-{precision}-{number}")
            self.assertIn("note: continuing at step 10", words)
            self.assertEqual(sorted(begun), list(range(10)))
            self.assertEqual(sorted(went_on), list(range(10, 20)))
            for step, loss in sorted((begun | went_on).items()):
                self.assertLessEqual(abs(loss - whole[step]), tolerance * whole[step],
                                     f"{first} -> {then}, {precision}, step {step}")

    def test_a_run_goes_on_under_another_layout_as_if_nothing_had_happened(self):
        # P, D, schedule, chunks, ZeRO-1 or what is sharded. Ranks that are threads are quicker to
        # start.
        fused = (2, 1, "1f1b", 1, False)
        zero1 = (1, 2, "1f1b", 1, True)
        self.check_resumed(
            "float64", 1e-10, ("gloo", (1, 2, "1f1b", 1, "fsdp"), fused),
            ("loopback", (2, 1, "interleaved", 2, False), (1, 4, "gpipe", 1, "fsdp")),
            ("loopback", (2, 1, "zb-h1", 1, False), (4, 1, "gpipe", 1, False)))
        self.check_resumed("float32", 1e-4, ("loopback", zero1, fused))

    def then(self, *plans):
        """Options with which these plans run after the first step, one step each."""
        return [word for step, plan in enumerate(plans, 1) for word in ("--then", f"{step}:{plan}")]

    def check_losses(self, losses, whole, steps, what):
        self.assertEqual(sorted(losses), list(steps), what)
        for step, loss in losses.items():
            self.assertLessEqual(abs(loss - whole[step]), 1e-10 * whole[step],
                                 f"{what}, step {step}")

    def test_plans_take_turns_every_step_and_the_losses_are_those_of_one_process(self):
        # Other cuts, P, D, schedule, and optimizer state that is divided or not.
        alone = self.plan(1, 1, precision="float64")
        whole, _ = self.run_to_end(alone, "--steps", "9", name="alone-turns")
        for transport, first, second in (
                ("gloo", (2, 1, "1f1b", 1, False), (1, 2, "gpipe", 1, "fsdp")),
                ("loopback", (4, 1, "zb-h1", 1, False), (2, 2, "1f1b", 1, True))):
            a, b = (self.plan(*plan, precision="float64") for plan in (first, second))
            folder = self.path(f"checkpoints-turns-{transport}")
            options = ("--transport", transport, "--checkpoints", folder)
            if transport == "gloo":
                steady, _ = self.run_to_end(a, "--steps", "8", name="steady")
                self.check_losses(steady, whole, range(8), "one plan")
            turns, words = self.run_to_end(a, *self.then(b, a, b, a, b, a, b), "--steps", "8",
                                           *options, "--timeline", name=f"turns-{transport}")
            self.check_losses(turns, whole, range(8), f"{transport}, plans in turn")
            self.assertEqual(words.count("the plan is "), 7, words)
            self.assertRegex(words, r"note: after 1 step the plan is \S+; rank 0 received "
                                    r"\S+ \w+ of weights and optimizer state and sent \S+ \w+, in ")
            # Written under the second plan; the first goes on with it.
            with open(os.path.join(folder, "step-8", "manifest.json"), encoding="utf-8") as file:
                manifest = json.load(file)
            log = self.path(f"turns-{transport}.jsonl")
            with open(log, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            self.assertEqual([step.get("plan") for step in lines[1:]], [None, b] * 4)
            self.assertEqual(manifest["plan_hash"], lines[2]["plan_hash"])
            went_on, _ = self.run_to_end(a, "--steps", "9", "--resume", *options,
                                         name=f"on-turns-{transport}")
            self.check_losses(went_on, whole, range(8, 9), f"{transport}, resumed")
            # Each plan is compared with its own steps.
            for plan in (a, b):
                said = subprocess.run([PENSTOCK, "validate", plan, log, "--json", "--warm-up", "0",
                                       "--tolerance-percent", "1000"], timeout=LIMIT,
                                      capture_output=True, text=True, check=False)
                self.assertIn("4 of the run's 8 steps ran under this plan", said.stdout,
                              said.stderr)

    def test_plans_that_make_no_run_together_are_refused(self):
        plan, other = self.plan(2, 1), self.plan(2, 2)
        self.assertIn(f"error: {other}: /plan: the number of ranks, P times D, is 4; in "
                      f"{plan} it is 2\nhelp: a run keeps its ranks; plan for --gpus 2",
                      self.refusal(plan, "--then", f"1:{other}"))
        other = self.plan(2, 1, precision="float64")
        self.assertIn(f"error: {other}: /description: ", self.refusal(plan, "--then", f"1:{other}"))
        other = self.plan(2, 1, batch=4)
        self.assertIn(f"error: {other}: /plan/global_batch is 4; in {plan} it is 8\nhelp: plan with "
                      "--global-batch 8", self.refusal(plan, "--then", f"1:{other}"))
        for then, said in (("7", "'7' is not STEPS:PLAN"), (f"0:{plan}", "--then"),
                           (f"10:{plan}", "after 10 steps: the run has 10, so that this plan "
                                          "would never run")):
            self.assertIn(said, self.refusal(plan, "--then", then))
        self.assertIn("after 3 steps is not later than after 5, when the plan before it begins",
                      self.refusal(plan, "--then", f"5:{plan}", "--then", f"3:{plan}"))

    def test_what_would_silently_change_a_resumed_run_is_refused_and_the_rest_is_said(self):
        plan = self.plan(1, 1)
        options = ("--checkpoints", self.path("checkpoints"))
        self.run_to_end(plan, "--steps", "4", "--learning-rate", "0.01", "--seed", "7", *options)
        options += ("--resume", "--steps", "6")
        manifest = self.path("checkpoints/step-4/manifest.json")
        self.assertIn(f"error: {manifest}: /training/seed: the checkpoint was made with the seed 7,"
                      " this run has 1\nhelp: ", self.refusal(plan, "--seed", "1", *options))
        with open(self.path("other.txt"), "w", encoding="utf-8") as file:
            file.write("something else, and shorter. " * 20)
        self.assertIn(f"{manifest}: /data: ", self.refusal(plan, *options, data="other.txt"))
        self.assertIn(f"{manifest}: /global_batch: ",
                      self.refusal(self.plan(1, 1, batch=4), *options))
        self.assertIn(f"{manifest}: /precision: ",
                      self.refusal(self.plan(1, 1, precision="bfloat16"), *options))
        # Two ranks are as good as one, and it is said once.
        words = self.refusal(self.plan(2, 1, batch=4), *options)
        self.assertEqual(words.count("error: "), 1, words)
        # What was not given is as it was; what was given and differs is said.
        losses, words = self.run_to_end(plan, *options, name="same")
        self.assertEqual(words.count("note: "), 1, words)
        self.assertEqual(sorted(losses), [4, 5])
        with open(self.path("checkpoints/step-6/manifest.json"), encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual((kept["training"]["learning_rate"], kept["training"]["seed"],
                          kept["samples"]), (0.01, 7, 48))
        _, words = self.run_to_end(
            self.plan(2, 1, batch=4), *options[:2], "--resume", "--steps", "8", "--learning-rate",
            "0.001", "--may-change", "global-batch,data", data="other.txt", name="changed")
        for note in ("the data is ", "the global batch is 4 from here on; the checkpoint was made "
                     "with 8", "the learning rate is 0.001 from here on; the checkpoint was made "
                     "with 0.01", "continuing at step 6"):
            self.assertEqual(words.count(f"note: {note}"), 1, words)
        with open(self.path("checkpoints/step-8/manifest.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["samples"], 48 + 2 * 4)

    def test_manifests_keep_the_schema(self):
        try:
            import jsonschema  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        self.run_to_end(self.plan(1, 1), "--steps", "1", "--checkpoints", self.path("checkpoints"))
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        with open(self.path("checkpoints/step-1/manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        self.assertEqual([str(error) for error in kind(schema).iter_errors(manifest)], [])
        del manifest["data"]["checksum"]
        self.assertFalse(kind(schema).is_valid(manifest))

    def test_a_signal_that_comes_while_ranks_are_loaded_ends_the_run_after_its_first_step(self):
        folder = self.path("checkpoints")
        job = self.train(self.plan(2, 1), "--steps", "100000", "--checkpoints", folder)
        wait_until(lambda: 1 in children_of(job.process.pid) or job.process.poll() is not None,
                   "rank 1")
        os.kill(children_of(job.process.pid)[1], signal.SIGUSR1)
        exit_code, words = job.end()
        self.assertEqual(exit_code, 4, words)
        self.assertEqual(os.listdir(folder), [f"step-{len(job.losses())}"])

    def test_when_the_rank_that_serves_the_store_is_killed_the_others_say_so(self):
        plan = self.plan(2, 1)
        for _ in range(5):  # another process may take the port before rank 0 does
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                place = f"127.0.0.1:{free.getsockname()[1]}"
            jobs = [self.train(plan, "--steps", "100000", "--ranks", "2", "--rank", str(rank),
                               "--local-rank", str(rank), "--master", place, name=f"rank-{rank}")
                    for rank in (0, 1)]
            wait_until(lambda: 3 in jobs[0].losses() or jobs[0].process.poll() is not None, "steps")
            if jobs[0].process.poll() is None:
                break
            jobs[1].kill()
        jobs[0].kill()
        exit_code, words = jobs[1].end()
        self.assertEqual(exit_code, 3, words)
        self.assertRegex(words, r"error: rank 0, which serves the job's store, cannot be reached in "
                                r"step \d+: it was lost, or the network")


if __name__ == "__main__":
    PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
