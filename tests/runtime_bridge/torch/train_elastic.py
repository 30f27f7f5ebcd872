#!/usr/bin/python3
"""Runs by a book of plans, for as many ranks as there are, also under torchrun.

    train_elastic.py PENSTOCK [TEST...]

The small GPT of train_processes.py in double precision: whatever the ranks and plans, the losses
are those of one process.
"""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import train_processes  # pylint: disable=wrong-import-position
from train_processes import LIMIT, wait_until  # pylint: disable=wrong-import-position


class TrainElastic(train_processes.TrainingJobs):
    def book_of(self, profile, cluster, gpus):
        for name, value in (("profile", profile), ("cluster", cluster)):
            with open(self.path(f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(value, file)
        book = self.path("book.json")
        subprocess.run([train_processes.PENSTOCK, "plan", self.path("profile.json"), "--cluster",
                        self.path("cluster.json"), "--for", "penstock", "--global-batch", "8",
                        "--gpus", gpus, "-o", book], check=True, timeout=LIMIT, capture_output=True)
        return book

    def book(self):
        return self.book_of(train_processes.profile("float64"), train_processes.cluster(4), "1..4")

    def command(self, book, *options):
        return [train_processes.PENSTOCK, "train", "--book", book, "--data", self.path("data.txt"),
                "--no-pinning", "--log", self.path("run.jsonl"), "--checkpoints",
                self.path("checkpoints"), "--resume-if-any", *options]

    def losses(self):
        try:
            with open(self.path("run.jsonl"), encoding="utf-8") as file:
                lines = [line for line in file.read().split("\n")[1:] if line.endswith("}")]
        except FileNotFoundError:
            return {}
        return {step["step"]: step["loss"] for step in map(json.loads, lines)}

    def check_losses(self, steps):
        alone = self.plan(1, 1, precision="float64")
        whole, _ = self.run_to_end(alone, "--steps", str(steps), name="alone")
        losses = self.losses()
        self.assertEqual(sorted(losses), list(range(steps)))
        for step, loss in losses.items():
            self.assertLessEqual(abs(loss - whole[step]), 1e-10 * whole[step], f"step {step}")

    def test_a_run_goes_on_with_as_many_ranks_as_there_are(self):
        book = self.book()
        for number, ranks in enumerate((4, 1, 3, 2), 1):
            ended = subprocess.run(self.command(book, "--ranks", str(ranks), "--steps",
                                                str(3 * number)),
                                   timeout=LIMIT, capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)
        self.check_losses(12)

    def test_what_the_book_lacks_is_said(self):
        book = self.book()

        def refusal(*options):
            ended = subprocess.run(self.command(book, *options), timeout=LIMIT,
                                   capture_output=True, text=True, check=False)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            return ended.stderr

        self.assertIn("--book: the number of ranks is not known\nhelp: ", refusal())
        self.assertIn("--book: a plan file is given as well", refusal(self.plan(1, 1)))
        with open(book, encoding="utf-8") as file:
            pages = json.load(file)
        pages["pages"] = [page for page in pages["pages"] if page["gpus"] > 1]
        with open(book, "w", encoding="utf-8") as file:
            json.dump(pages, file)
        self.assertIn("no page has a plan for 1 rank; the fewest are 2", refusal("--ranks", "1"))

    def book_of_types(self):
        """One slow device and two fast ones: the plan for all three leaves the slow one out."""
        profile, cluster = train_processes.profile("float64"), train_processes.cluster(1)
        fast = profile["section_types"][0]["measurements"][0]
        slow = {key: 100 * value if key.endswith("_ms") else value for key, value in fast.items()}
        profile["section_types"][0]["measurements"] = [dict(slow, device="slow"),
                                                       dict(fast, device="fast")]
        cluster["device_types"] = [dict(cluster["device_types"][0], name=name)
                                   for name in ("slow", "fast")]
        cluster["node_types"] = [{"name": name, "device_type": name, "devices": devices}
                                 for name, devices in (("slow", 1), ("fast", 2))]
        cluster["nodes"] = [{"node_type": name, "count": 1} for name in ("slow", "fast")]
        return self.book_of(profile, cluster, "slow=0..1,fast=0..2")

    OF_TYPES = ("--ranks", "3", "--ranks-of", "slow=1,fast=2", "--steps", "4")

    def test_ranks_that_are_started_here_are_numbered_as_in_the_plan(self):
        ended = subprocess.run(self.command(self.book_of_types(), *self.OF_TYPES), timeout=LIMIT,
                               capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.check_losses(4)

    def test_rank_0_serves_the_store_where_the_plan_has_no_use_for_it(self):
        book = self.book_of_types()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = [subprocess.Popen(
            self.command(book, *self.OF_TYPES, "--rank", str(rank), "--master",
                         f"127.0.0.1:{port}"),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for rank in range(3)]
        for rank in ranks:
            self.addCleanup(rank.kill)
        for rank in ranks:
            _, words = rank.communicate(timeout=LIMIT)
            self.assertEqual(rank.returncode, 0, words)
        self.check_losses(4)

    def wait_for_step(self, step, process):
        wait_until(lambda: step in self.losses() or process.poll() is not None, f"step {step}")
        self.assertIsNone(process.poll())

    def test_as_kubernetes_ends_a_pod_and_starts_the_next(self):
        book = self.book()
        options = ("--ranks", "2", "--steps", "60", "--checkpoint-every", "auto")
        pod = subprocess.Popen(self.command(book, *options), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(pod.kill)
        self.wait_for_step(4, pod)
        pod.send_signal(signal.SIGTERM)
        self.assertEqual(pod.wait(LIMIT), 4)
        done = len(self.losses())
        if done < 60:
            self.assertTrue(os.path.exists(self.path(f"checkpoints/step-{done}/manifest.json")))
        # The same command, on a node with more GPUs.
        ended = subprocess.run(self.command(book, "--ranks", "4", *options[2:]), timeout=LIMIT,
                               capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.check_losses(60)

    def test_as_slurm_signals_a_job_and_puts_it_back_into_the_queue(self):
        """data/jobs/slurm.sbatch as it is, by /bin/bash, with commands of Slurm made here: srun
        starts the ranks on processors, scancel signals srun's process, scontrol takes a note."""
        book = self.book()
        commands = self.path("commands")
        os.makedirs(commands)
        real = " ".join(f"'{word}'" for word in self.command(book, "--ranks", "2", "--steps", "60"))

        def script(name, text):
            path = os.path.join(commands, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/bash\n" + text)
            os.chmod(path, 0o755)

        script("srun", f'echo "$@" >{self.path("asked")}\necho $$ >{self.path("step")}\n'
                       f"exec {real}\n")
        script("scancel", f'[ "$1" = --signal=USR1 ] && kill -USR1 "$(cat {self.path("step")})"\n')
        script("scontrol", f'echo "$@" >>{self.path("requeued")}\n')
        sbatch = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                              "../../../data/jobs/slurm.sbatch")

        def start(count):
            environment = dict(os.environ, PATH=commands + ":" + os.environ["PATH"],
                               SLURM_JOB_ID="4711")
            environment.pop("SLURM_RESTART_COUNT", None)
            if count:
                environment["SLURM_RESTART_COUNT"] = str(count)
            job = subprocess.Popen(["bash", sbatch], env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            self.addCleanup(job.kill)
            return job

        first = start(0)
        self.wait_for_step(4, first)
        first.send_signal(signal.SIGUSR1)
        self.assertEqual(first.wait(LIMIT), 4)
        with open(self.path("requeued"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "requeue 4711\n")
        with open(self.path("asked"), encoding="utf-8") as file:
            self.assertIn("penstock train --book book.json", file.read())
        self.assertEqual(start(1).wait(LIMIT), 0)
        with open(self.path("requeued"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "requeue 4711\n")  # a job that is done stays so
        self.check_losses(60)

    def agent(self, port, book, *options, hosts):
        """A node of one rank, in a process group of its own. `hosts`: torchrun's store, which is
        otherwise that of whoever comes first, and is lost with it."""
        process = subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--nnodes=1:2", "--nproc_per_node=1",
             "--max_restarts=3", "--rdzv_backend=c10d", "--rdzv_id=job",
             f"--rdzv_endpoint=127.0.0.1:{port}",
             "--rdzv_conf=last_call_timeout=2,keep_alive_interval=1,keep_alive_max_attempt=3,"
             f"is_host={hosts}",
             # Debian's PyTorch 1.13 cannot read the default, 0, under Python 3.11, which leaves the
             # zero of an enum out when it goes through it.
             "--redirects=1", "--tee=1", "--no_python", *self.command(book, *options)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.addCleanup(self.end_group, process)
        return process

    @staticmethod
    def end_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate(timeout=LIMIT)

    def test_under_torchrun_the_others_go_on_when_a_node_is_lost(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("python3-torch is not installed")
        book = self.book()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = ("--steps", "4000", "--checkpoint-every", "50")
        first = self.agent(port, book, *options, hosts=True)
        second = self.agent(port, book, *options, hosts=False)
        wait_until(lambda: 60 in self.losses() or first.poll() is not None, "steps on two nodes")
        self.assertIsNone(first.poll(), first.stdout.read() if first.poll() is not None else "")
        self.end_group(second)
        lost_at = max(self.losses())
        wait_until(lambda: max(self.losses(), default=0) > lost_at + 30 or
                   first.poll() is not None, "steps on one node")
        self.assertIsNone(first.poll(), first.stdout.read() if first.poll() is not None else "")
        with open(self.path("run.jsonl"), encoding="utf-8") as file:
            steps = [json.loads(line) for line in file.read().split("\n")[1:]
                     if line.endswith("}")]
        # The plan for one rank took over.
        self.assertIn("(1 GPUs)", steps[-1]["plan"])
        self.end_group(first)
        done = max(self.losses()) + 1
        self.assertEqual(sorted(self.losses()), list(range(done)))


if __name__ == "__main__":
    train_processes.PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
