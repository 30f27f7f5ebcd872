#!/usr/bin/python3
"""Pipelines whose optimizer's state is on the host.

    train_offloaded.py PENSTOCK

A small GPT on two ranks, or four. Each rank's device is a part of memory: 3.5 MB, in which two of four sections of
140,000 parameters fit with weights and gradients (2.2 MB), and not with AdamW's moments (4.5 MB). Losses are those of
the same plan with everything on the devices, to the last bit.
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
BUDGET = 3_500_000  # bytes
STEPS = 4


def run(*arguments):
    return subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, check=False,
                          timeout=LIMIT)


def model(precision):
    made = profile(precision)
    made["description"].update({"hidden": 128, "heads": 4, "feed_forward": 256})
    made["section_types"][0]["parameters"][0]["count"] = 140_000
    if precision == "bfloat16":  # weights in 2 bytes, a master copy, gradients in 4
        made["training"].update({"bytes_per_parameter": 2, "optimizer_bytes_per_parameter": 12})
    return made


def machine(memory):
    made = cluster(4)
    made["device_types"][0]["memory_bytes"] = memory
    made["node_types"][0]["host"] = {"memory_bytes": 10**9, "bandwidth_bytes_per_s": 10**9}
    return made


class Offloaded(InOneFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write({"float32.json": model("float32"), "bfloat16.json": model("bfloat16"),
                   "small.json": machine(BUDGET), "large.json": machine(10**10)})

    def plan(self, name, pins, hardware, *options, precision="float32"):
        return run("plan", self.at(f"{precision}.json"), "--cluster", self.at(hardware), "--gpus",
                   "4", "--global-batch", "4", "--for", "penstock", "--pin", pins, *options, "-o",
                   self.at(name))

    def losses(self, name, *options):
        done = run("train", self.at(name), "--data", self.at("corpus.txt"), "--steps", str(STEPS),
                   "--log", self.at("run.jsonl"), *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.at("run.jsonl"), encoding="utf-8") as log:
            losses = [json.loads(line)["loss"] for line in list(log)[1:]]
        self.assertEqual(len(losses), STEPS)
        return losses, done.stderr

    def same_losses(self, pins, options, train=(), copies=(), precision="float32",
                    hardware="small.json"):
        made = self.plan("plain.json", pins, "large.json", *options, precision=precision)
        self.assertEqual(made.returncode, 0, made.stderr)
        made = self.plan("host.json", pins + ",offload=optimizer", hardware, *options,
                         precision=precision)
        self.assertEqual(made.returncode, 0, made.stderr + made.stdout)
        checked = run("check", self.at("host.json"))
        self.assertEqual(checked.returncode, 0, checked.stdout)
        plain, _ = self.losses("plain.json", *train)
        offloaded, told = self.losses("host.json", *train, *copies)
        self.assertEqual(offloaded, plain)
        return told

    def test_a_pipeline_that_fits_only_so(self):
        without = self.plan("none.json", "PP=2,DP=1,mbs=1", "small.json", "--schedule", "1f1b")
        self.assertEqual(without.returncode, 1, without.stderr)
        self.assertIn("--pin offload=optimizer", re.sub(r"\s+", " ", without.stdout))
        told = self.same_losses("PP=2,DP=1,mbs=1", ("--schedule", "1f1b"))
        self.assertRegex(told, r"whose optimizer runs on the host, held .* at most, of .* predicted")

    def test_clipped_over_a_slow_link(self):
        self.same_losses("PP=2,DP=1,mbs=1", ("--schedule", "zb-h1"),
                         ("--clip-norm", "0.5"), ("--host-gb-per-s", "0.5"))

    def test_replicas_that_shard_the_state(self):
        self.same_losses("PP=2,DP=2,mbs=1", ("--schedule", "1f1b", "--zero1", "on"))

    def test_two_stages_per_rank(self):
        self.same_losses("PP=2,DP=1,VP=2,mbs=1", ("--schedule", "interleaved"))

    def test_master_weights(self):
        self.same_losses("PP=2,DP=2,mbs=1", ("--schedule", "1f1b", "--zero1", "off"),
                         precision="bfloat16")

    def test_a_run_of_several_plans(self):
        # Two replicas of two stages, four stages, and back: weights and moments move between hosts.
        for name, pins, hardware in (("plain", "", "large.json"),
                                     ("host", ",offload=optimizer", "small.json")):
            for layout in ("PP=2,DP=2", "PP=4,DP=1"):
                made = self.plan(f"{name}-{layout[:4]}.json", f"{layout},mbs=1{pins}", hardware,
                                 "--schedule", "1f1b", "--zero1", "off")
                self.assertEqual(made.returncode, 0, made.stderr + made.stdout)
        plain, host = (self.losses(f"{name}-PP=2.json",
                                   "--then", f"1:{self.at(name + '-PP=4.json')}",
                                   "--then", f"3:{self.at(name + '-PP=2.json')}")
                       for name in ("plain", "host"))
        self.assertEqual(host[0], plain[0])
        self.assertIn("after 3 steps the plan is", re.sub(r"\s+", " ", host[1]))
        refused = run("train", self.at("plain-PP=2.json"), "--data", self.at("corpus.txt"),
                      "--steps", "2", "--then", f"1:{self.at('host-PP=4.json')}")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("a run cannot change between plans with the optimizer on the host",
                      re.sub(r"\s+", " ", refused.stderr))

    def test_a_rank_may_not_hold_more(self):
        made = self.plan("host.json", "PP=2,DP=1,mbs=1,offload=optimizer", "small.json",
                         "--schedule", "1f1b")
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(self.at("host.json"), encoding="utf-8") as file:
            plan = json.load(file)
        plan["cluster"]["memory_per_device_bytes"] = 1_500_000  # weights and gradients take 2.2 MB
        for rank in plan["prediction"]["ranks"]:
            rank["capacity_bytes"] = 1_500_000
        with open(self.at("tight.json"), "w", encoding="utf-8") as file:
            json.dump(plan, file)
        done = run("train", self.at("tight.json"), "--data", self.at("corpus.txt"), "--steps", "1")
        self.assertNotEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(argv=sys.argv)
