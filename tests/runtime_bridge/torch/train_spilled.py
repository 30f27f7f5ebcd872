#!/usr/bin/python3
"""The pilot step of a spilled run.

    train_spilled.py PENSTOCK

A small GPT whose weights are on the host, two shards at a time on a device that is a part of memory. Losses are the
same with and without the step that is tried first; where that does not fit, the run ends before it begins and names
the option that keeps as much free.
"""

import json
import os
import re
import subprocess
import sys
import unittest

from train_processes import InOneFolder, cluster, profile

PENSTOCK = ""
LIMIT = 120  # seconds for anything; a machine may be busy
DEVICE = 2_000_000  # bytes, of which the plan takes about a tenth


def run(*arguments):
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False,
                          timeout=LIMIT)


class Pilot(InOneFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        small = cluster(1)
        small["device_types"][0]["memory_bytes"] = DEVICE
        cls.write({"profile.json": profile(), "cluster.json": small})
        cls.plan("spilled.json", "--spill", "--host-gib", "1", "--host-gb-per-s", "1",
                 "--shards", "0,1,2,3")
        cls.plan("plain.json", "--for", "penstock")

    @classmethod
    def plan(cls, name, *options):
        made = run("plan", cls.at("profile.json"), "--cluster", cls.at("cluster.json"), "--gpus",
                   "1", "--global-batch", "2", *options, "-o", cls.at(name))
        assert made.returncode == 0, made.stderr

    def train(self, plan, *options):
        return run("train", self.at(plan), "--data", self.at("corpus.txt"), "--steps", "3", "--log",
                   self.at("run.jsonl"), *options)

    def losses(self, *options):
        done = self.train("spilled.json", "--spill", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.at("run.jsonl"), encoding="utf-8") as log:
            return done.stderr, [json.loads(line)["loss"] for line in list(log)[1:]]

    def test_losses_are_those_without_it(self):
        _, plain = self.losses()
        told, tried = self.losses("--pilot", "5")
        self.assertEqual(len(plain), 3)
        self.assertEqual(tried, plain)
        self.assertRegex(told, r"pilot: a step held .* at most, of the 1\.8 MiB that it was given")

    def test_where_it_does_not_fit_the_option_that_helps_is_named(self):
        done = self.train("spilled.json", "--spill", "--pilot", "90")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("the pilot step does not fit into 195.3 KiB, the device less 90 %", done.stderr)
        # 1.8 of 2 MB, in GiB, rounded up to a thousandth.
        self.assertIn("--reserve-gib 0.002", done.stderr)
        self.assertFalse(re.search("^step ", done.stderr, re.MULTILINE), done.stderr)

    def test_a_plan_that_keeps_its_weights_on_the_device_has_none(self):
        done = self.train("plain.json", "--pilot", "5")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--pilot: ", done.stderr)
        self.assertIn("--spill", done.stderr)


if __name__ == "__main__":
    PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=sys.argv)
