#!/usr/bin/python3
"""How well a manager foresees the time from an event to the first new step, on real ranks.

    first_steps.py PENSTOCK [--events 16] [--seconds 200] [--keep FOLDER]

The job of chaos.py, to which one thing happens at a time: a rank or a launcher is killed, a machine
leaves, comes back, or is announced to go. The next comes when the job has done some steps after the
one before. Prints what the manager foresaw and what it measured for each, in which of two parts (until
the ranks had ended, until the first step of the next ones was done), and how many are within 20 %. The
first change of a kind has nothing behind it but what the job file assumes; it is shown, and counts.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
import chaos  # pylint: disable=wrong-import-position

# Each as often as fits; a machine that leaves comes back.
ROUND = ["kill_rank", "leave", "join", "kill_launcher", "notice", "join", "kill_rank", "power_off",
         "join"]
STEPS_BETWEEN = 12
WITHIN = 0.2


class FirstSteps(chaos.Chaos):
    def train_alone(self):
        """Not asked for: no losses are compared."""

    def measured(self):
        path = os.path.join(self.run_folder, "decisions.jsonl")
        lines = self.decisions() if os.path.exists(path) else []
        return [line for line in lines if line["decision"] == "measure"]

    def wait_for(self, what, found):
        deadline = time.monotonic() + chaos.PATIENCE
        while not found():
            for when, act in [each for each in self.pending if each[0] <= time.monotonic()]:
                self.pending.remove((when, act))
                act()
            assert self.manager.poll() is None, "the manager has ended"
            assert time.monotonic() < deadline, f"not within {chaos.PATIENCE} s: {what}"
            time.sleep(0.05)

    def steps_of_newest(self):
        generations = self.generations()
        return len(chaos.steps_in(self.log_of(generations[-1]))) if generations else 0

    def run(self):
        self.start_manager()
        self.kinds = []
        for number in range(self.options.events):
            self.wait_for("the next steps", lambda: self.steps_of_newest() > STEPS_BETWEEN)
            if time.monotonic() - self.began > self.options.seconds:
                break
            kind = ROUND[number % len(ROUND)]
            before = len(self.measured())
            self.event += 1
            act = {"power_off": self.power_off_some}.get(kind, getattr(self, kind))
            if not act():
                continue  # nothing to hit: nobody is away, say
            self.wait_for(f"a first step after {kind}", lambda: len(self.measured()) > before)
            self.kinds.append(kind)
        self.manager.send_signal(signal.SIGTERM)
        self.manager.wait(timeout=60)

    def table(self):
        lines = self.decisions()
        near, rows = 0, []
        measures = [i for i, line in enumerate(lines) if line["decision"] == "measure"]
        for kind, index in zip(self.kinds, measures):
            reason = lines[index]["reason"]
            took, expected = (float(found[1]) * chaos.UNITS[found[2]] for found in (
                re.match(r"The first step was done ([\d.]+) (\w+) after", reason),
                re.search(r"; ([\d.]+) (\w+) were expected", reason)))
            start = next(line for line in reversed(lines[:index]) if line["decision"] == "start")
            second = chaos.seconds_of(lines[index]["at"]) - chaos.seconds_of(start["at"])
            is_near = abs(took - expected) <= WITHIN * took
            near += is_near
            rows.append(f"{kind:14} {expected:8.2f} {took:9.2f} {took - second:7.2f} {second:7.2f} "
                        f"{100 * (expected / took - 1):+7.0f} %")
        print("event          foreseen  measured  to end  to step    error")
        print("\n".join(rows))
        print(f"{near} of {len(rows)} within {100 * WITHIN:.0f} % "
              f"({100 * near / max(1, len(rows)):.0f} %), in {time.monotonic() - self.began:.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("--events", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=200, help="no event begins later")
    parser.add_argument("--keep", help="a new folder in which everything stays")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.seed, options.mirror, options.types = 1, False, False
    options.steps = 1000000
    options.penstock = os.path.abspath(options.penstock)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        job = FirstSteps(options.penstock, os.path.abspath(folder), options)
        try:
            job.prepare()
            job.run()
            job.table()
        finally:
            job.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
