#!/usr/bin/python3
"""A managed job of real ranks, one of which is slowed down: it is found, and what is best is done.

    slow_rank.py PENSTOCK [--machines 3] [--share 0.6] [--keep FOLDER]

Three replicas of a small GPT on three loopback addresses, as in chaos.py. Once they run, the process
of the last one is stopped for `share` of every 40 ms, as a GPU that throttles would be. The ranks
have to find that by the median of their stage (docs/morphing.md), write it to their file of slow
machines, and the manager has to simulate it and to change the plan. Then the rank runs at full speed
again, and the manager has to find that, too. Ends with an error where one of these does not come.

By hand, since on a machine that computes for others as well the two fast ranks may differ as much.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
import chaos  # pylint: disable=wrong-import-position

PERIOD = 0.04  # s, of stopping and going on: a fraction of a step
BATCH = 12
LIMIT = 300  # seconds for any of the steps below


def profile():
    """chaos.py's, with wider layers, so that a step is mostly compute."""
    made = chaos.profile()
    made["description"].update(hidden=128, heads=4, feed_forward=512)
    return made


class Slowed:
    """Stops the ranks of a machine again and again, while it lives."""

    def __init__(self, folder, host, share):
        self.folder, self.host, self.share = folder, host, share
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        ranks, looked = [], 0.0
        while not self.ending.is_set():
            if time.monotonic() - looked > 0.5:  # there may be a new generation
                ranks = [p[0] for p in chaos.marked(self.folder) if p[1] and p[2] == self.host]
                looked = time.monotonic()
            for number, length in ((signal.SIGSTOP, self.share), (signal.SIGCONT, 1 - self.share)):
                for rank in ranks:
                    chaos.hit(rank, number)
                time.sleep(length * PERIOD)

    def end(self):
        self.ending.set()
        self.thread.join()


class SlowRank(chaos.Chaos):
    def prepare(self):
        model, cluster = profile(), chaos.cluster()
        chaos.write(self.path("profile.json"), model)
        chaos.write(self.path("cluster.json"), cluster)
        with open(self.path("data.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i} squared is {i * i}. " for i in range(5000)))
        self.call("plan", self.path("profile.json"), "--cluster", self.path("cluster.json"),
                  "--gpus", f"1..{self.options.machines}", "--global-batch", str(BATCH),
                  "--for", "penstock", "-o", self.path("book.json"))
        chaos.write(self.path("machines"), "".join(
            chaos.machine_line(host, False) for host in self.hosts()))
        chaos.write(self.path("job.json"), {
            "format": "penstock.job/1", "book": self.path("book.json"), "steps": 1000000,
            "train": ["--data", self.path("data.txt"), "--no-pinning"],
            "checkpoints": self.path("checkpoints"), "run_folder": self.run_folder,
            "machine_file": self.path("machines"), "checkpoint_every_s": 20})

    def hosts(self):
        return chaos.HOSTS[:self.options.machines]

    def wait_for(self, what, found):
        deadline = time.monotonic() + LIMIT
        while not found():
            assert self.manager.poll() is None, "the manager has ended"
            assert time.monotonic() < deadline, f"not within {LIMIT} s: {what}"
            time.sleep(0.1)
        print(f"{time.monotonic() - self.began:6.1f} s  {what}", flush=True)

    def decided(self, begin, *kinds):
        """Lines of these kinds, behind the first `begin` of all."""
        path = os.path.join(self.run_folder, "decisions.jsonl")
        lines = self.decisions()[begin:] if os.path.exists(path) else []
        return [line for line in lines if line["decision"] in kinds]

    def slow_ranks_of(self, generation):
        """By the file that its ranks wrote."""
        path = os.path.join(self.run_folder, "generations", str(generation), "slow.json")
        with open(path, encoding="utf-8") as file:
            return [rank["rank"] for rank in json.load(file)["slow"]]

    def run(self):
        self.start_manager()
        self.wait_for("50 steps are done", lambda: self.reached()[1] > 50)
        blamed = self.decided(0, "simulate")
        assert not blamed, f"a rank counts as slow before one is: {blamed}"
        before = len(self.decisions())
        slowed = Slowed(self.folder, self.hosts()[-1], self.options.share)
        try:
            self.wait_for("the slow rank is found, and simulated",
                          lambda: self.decided(before, "simulate"))
            self.wait_for("it is decided what to do about it",
                          lambda: self.decided(before, "keep", "stop"))
            self.wait_for("steps are done after that", lambda: self.decided(before, "keep") or
                          self.decided(before, "measure"))
        finally:
            slowed.end()
        found = self.decided(before, "simulate")[0]
        assert self.hosts()[-1] in found["event"], found
        ranks = self.slow_ranks_of(found["generation"])
        assert ranks == [self.options.machines - 1], ranks
        for line in self.decided(before, "simulate", "keep", "stop", "measure"):
            print(f"  {line['decision']}: {line['event']}: {line['reason']}")
        back = len(self.decisions())
        if not self.decided(before, "stop"):
            return
        self.wait_for("the machine counts as well again", lambda: [
            line for line in self.decided(back, "note") if "as long as was predicted" in
            line["reason"]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("--machines", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.6)
    parser.add_argument("--keep", help="a new folder in which everything stays")
    options = parser.parse_args()
    options.seed, options.verbose, options.mirror = 1, False, False
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(options.keep or temporary)
        os.makedirs(folder, exist_ok=True)
        trial = SlowRank(os.path.abspath(options.penstock), folder, options)
        try:
            trial.prepare()
            trial.run()
        finally:
            trial.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
