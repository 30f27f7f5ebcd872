#!/usr/bin/python3
"""A run over two hosts: two network namespaces with a cable between them.

    train_two_hosts.py PENSTOCK [TEST...]

Each host has a name of its own, which its /etc/hosts maps to 127.0.1.1, as Debian's installer writes
it; so whoever asks for the address of the own name tells the other host one that leads nowhere. A
host that is killed loses its processes and its cable at once: nothing says goodbye. Needs root and
veth devices; elsewhere it is skipped (exit code 77).
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import train_processes as jobs  # noqa: E402

NAMES = ("penstock-a", "penstock-b")
ADDRESSES = ("10.77.7.1", "10.77.7.2")
SETUP = ('hostname "$1" && mount --make-rprivate / && mount --bind "$2" /etc/hosts && shift 2 && '
         'exec "$@"')


def run(*command, check=True):
    return subprocess.run(command, check=check, timeout=jobs.LIMIT, capture_output=True, text=True)


class Hosts:
    def __init__(self, folder):
        self.spaces = [f"{name}-{os.getpid()}" for name in NAMES]
        self.links = [f"pv{i}x{os.getpid() % 100000}" for i in (0, 1)]
        self.files = [os.path.join(folder, f"hosts-{name}") for name in NAMES]
        for space in self.spaces:
            run("ip", "netns", "add", space)
        run("ip", "link", "add", self.links[0], "netns", self.spaces[0], "type", "veth",
            "peer", "name", self.links[1], "netns", self.spaces[1])
        for i, space in enumerate(self.spaces):
            run("ip", "-n", space, "addr", "add", f"{ADDRESSES[i]}/24", "dev", self.links[i])
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "-n", space, "link", "set", self.links[i], "up")
            with open(self.files[i], "w", encoding="utf-8") as file:
                file.write(f"127.0.0.1 localhost\n127.0.1.1 {NAMES[i]}\n"
                           f"{ADDRESSES[1 - i]} {NAMES[1 - i]}\n")

    def command(self, i, *words):
        """On host i, with its name and its /etc/hosts."""
        return ["ip", "netns", "exec", self.spaces[i], "unshare", "--uts", "--mount", "sh", "-c",
                SETUP, "sh", NAMES[i], self.files[i], *words]

    def cable(self, state):
        run("ip", "-n", self.spaces[1], "link", "set", self.links[1], state)

    def kill(self, i):
        """Cable first, so that no connection is closed in an orderly way."""
        self.cable("down")
        for process in run("ip", "netns", "pids", self.spaces[i]).stdout.split():
            run("kill", "-9", process, check=False)

    def remove(self):
        for space in self.spaces:
            run("ip", "netns", "del", space, check=False)


class OnTwoHosts(jobs.Job):
    """Rank 0 on the first host, which is watched, and rank 1 on the second."""

    def __init__(self, hosts, folder, plan, *options, name="run", port=29611, environment=None):
        self.log = os.path.join(folder, f"{name}.jsonl")
        self.ranks = [
            subprocess.Popen(
                hosts.command(rank, jobs.PENSTOCK, "train", plan, "--data",
                              os.path.join(folder, "data.txt"), "--log", self.log, "--no-pinning",
                              "--rank", str(rank), "--ranks", "2", "--master",
                              f"{NAMES[0]}:{port}", *options),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "PENSTOCK_JOB_TOKEN": "told-to-both", **(environment or {})})
            for rank in (0, 1)]
        self.process = self.ranks[0]

    def end_of(self, rank):
        _, words = self.ranks[rank].communicate(timeout=jobs.LIMIT)
        return self.ranks[rank].returncode, words

    def kill(self):
        for process in self.ranks:
            if process.poll() is None:
                process.kill()
            if not process.stdout.closed:
                process.communicate(timeout=jobs.LIMIT)


class TrainTwoHosts(jobs.TrainingJobs):
    def setUp(self):
        super().setUp()
        self.hosts = Hosts(self.folder)

    def tearDown(self):
        super().tearDown()
        self.hosts.remove()

    def start(self, plan, *options, **names):
        job = OnTwoHosts(self.hosts, self.folder, plan, *options, **names)
        self.jobs.append(job)
        return job

    def check_trains(self, plan, whole, **names):
        job = self.start(plan, "--steps", str(len(whole)), **names)
        for rank in (1, 0):
            exit_code, words = job.end_of(rank)
            self.assertEqual(exit_code, 0, words)
        self.assertEqual(job.losses(), whole)

    def test_two_hosts_train_as_one_machine_does(self):
        pipeline, replicas = self.plan(2, 1), self.plan(1, 2)
        whole = self.losses_of_whole_run(pipeline, 6)
        self.check_trains(pipeline, whole, name="pipeline")
        self.check_trains(replicas, self.losses_of_whole_run(replicas, 6), name="replicas", port=29612)

    def test_a_killed_host_is_named_and_the_run_goes_on_when_it_is_back(self):
        plan = self.plan(2, 1)
        whole = self.losses_of_whole_run(plan, 60)
        options = ("--checkpoints", self.path("checkpoints"), "--checkpoint-every", "4",
                   "--time-out", "8s")
        job = self.start(plan, "--steps", "1000000", *options)
        job.wait_for_step(9)
        self.hosts.kill(1)
        exit_code, words = job.end()
        self.assertEqual(exit_code, 3, words)
        self.assertRegex(words, r"rank 1 \(pid \d+ on host penstock-b\) was lost in step \d+")
        before = job.losses()
        self.hosts.cable("up")
        done = max(int(name[5:]) for name in os.listdir(self.path("checkpoints"))
                   if name.startswith("step-") and name[5:].isdigit())
        resumed = self.start(plan, "--steps", str(done + 4), "--resume", *options, port=29613)
        for rank in (1, 0):
            exit_code, words = resumed.end_of(rank)
            self.assertEqual(exit_code, 0, words)
        self.assertIn(f"continuing at step {done}", words)
        after = resumed.losses()
        self.assertEqual(sorted(after), list(range(done + 4)) if 0 in after else
                         list(range(done, done + 4)))
        for step, loss in {**before, **after}.items():
            if step in whole:
                self.assertEqual(loss, whole[step], f"step {step}")


def why_no_hosts():
    if os.geteuid() != 0:
        return "network namespaces need root"
    space = f"penstock-try-{os.getpid()}"
    try:
        run("ip", "netns", "add", space)
        run("ip", "-n", space, "link", "add", "pvtry", "type", "veth", "peer", "name", "pvtry2")
        run(*["ip", "netns", "exec", space, "unshare", "--uts", "--mount", "true"])
    except (OSError, subprocess.CalledProcessError) as error:
        return f"this machine makes no network namespaces: {error}"
    finally:
        subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
    return ""


if __name__ == "__main__":
    jobs.PENSTOCK = os.path.abspath(sys.argv.pop(1))
    MISSING = why_no_hosts()
    if MISSING:
        print(f"skipped: {MISSING}")
        sys.exit(77)
    unittest.main(verbosity=2)
