#!/usr/bin/python3
"""Profiles of Varuna, made up and pickled here, converted, checked and planned with.

    convert_varuna_profile_test.py PENSTOCK CONVERTER
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest

PENSTOCK, CONVERTER = None, None


class RunsACommand:
    """What a malicious pickle holds: whoever loads it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


def block(forward, samples=(1, 2, 4)):
    # 1 GiB of state, so 2^30 / 16 parameters, and 100 MiB per sample.
    return {size: {"fwd": forward * size, "bwd": 2.0 * forward * size, "copy": 10.0,
                   "max_memory": 2 ** 30 + size * 100 * 2 ** 20, "acts_size": size * 2 ** 20}
            for size in samples}


class Conversion(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)

    def put(self, name, value, protocol=2):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(value if isinstance(value, bytes) else pickle.dumps(value, protocol))

    def convert(self, *more):
        out = os.path.join(self.folder, "out.json")
        command = [sys.executable, CONVERTER, self.folder, "--device", "toy", "--name", "model", "-o", out, *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done, out

    def converted(self, *more):
        done, out = self.convert(*more)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def refused(self, *parts, code=2):
        done, out = self.convert()
        self.assertEqual(done.returncode, code, done.stderr)
        for part in (*parts, "\nhelp: "):
            self.assertIn(part, done.stderr)
        self.assertFalse(os.path.exists(out))

    def penstock(self, *arguments):
        done = subprocess.run([PENSTOCK, *arguments], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_what_was_measured_is_taken_and_the_rest_is_marked(self):
        for protocol in (0, 1, 2, 3, 4, 5):
            with self.subTest(protocol=protocol):
                self.put("compute-profile-0", block(1000.25), protocol)
                self.put("compute-profile-1", block(3000), protocol)
                profile = self.converted("--sequence-length", "512")
                first, second = profile["section_types"]
                self.assertEqual(first["parameters"][0]["count"], 2 ** 26)
                self.assertEqual(len(first["measurements"]), 6)  # three sizes, two modes
                kept, again = second["measurements"][2:4]        # of two samples
                self.assertEqual(kept["micro_batch_size"], 2)
                self.assertEqual(kept["forward_ns"], 6_000_000)
                self.assertEqual(kept["fused_backward_ns"], 12_000_000)
                self.assertEqual(kept["boundary_bytes"], 2 ** 21)
                self.assertEqual(kept["stash_bytes"], 200 * 2 ** 20)
                self.assertEqual(again["recompute_time_ns"], 6_000_000)
                self.assertEqual(again["stash_bytes"], 2 ** 21)
                self.assertEqual(first["measurements"][0]["forward_ns"], 1_000_250)
                sources = {source["id"]: source["text"] for source in profile["sources"]}
                self.assertTrue(sources["hints"].startswith("low confidence"))

    def test_the_files_pass_the_checker_and_a_plan_is_made_of_them(self):
        for i in range(4):
            self.put(f"compute-profile-{i}", block(1000 + 100 * i), 4)
        self.put("comm-profile", {1024: {"send": 10.0, "long_send": 40}, 2 ** 20: {"send": 30.0, "long_send": -1},
                                  2 ** 24: {"send": 20.0, "long_send": 3000.0}}, 4)
        self.put("allred-profile", {1: [0.0, 5000.0, 6000.0], 2: [0.0, 2000.0]}, 2)
        cluster_path = os.path.join(self.folder, "cluster.json")
        self.converted("--cluster-out", cluster_path, "--element-size", "2", "--nodes", "2", "--gpus-per-node", "2",
                       "--memory-gib", "16", "--memory-bandwidth-gb-per-s", "900")
        with open(cluster_path, encoding="utf-8") as file:
            cluster = json.load(file)
        # Elements of two bytes; a time that falls is raised.
        self.assertEqual(cluster["levels"][0]["curve"],
                         [{"bytes": 2048, "time_ns": 10_000}, {"bytes": 2 ** 21, "time_ns": 30_000},
                          {"bytes": 2 ** 25, "time_ns": 30_000}])
        self.assertEqual(len(cluster["levels"][1]["curve"]), 2)
        # Four blocks of 2^26 parameters of 2 bytes on one stage, two on the first of two.
        self.assertEqual(cluster["collectives"][0]["participants"], 2)
        self.assertEqual(cluster["collectives"][0]["curve"],
                         [{"bytes": 2 ** 28, "time_ns": 2_000_000}, {"bytes": 2 ** 29, "time_ns": 5_000_000}])
        self.assertEqual(cluster["collectives"][1]["level"], "network")
        profile_path = os.path.join(self.folder, "out.json")
        self.assertIn("no findings", self.penstock("check", profile_path))
        self.assertIn("no findings", self.penstock("check", cluster_path))
        plan = os.path.join(self.folder, "plan.json")
        text = self.penstock("plan", profile_path, "--cluster", cluster_path, "--global-batch", "16", "-v", "-o", plan)
        self.assertIn("low confidence", text)
        self.assertIn("no findings", self.penstock("check", plan))

    def test_a_pickle_that_calls_something_is_refused_and_nothing_runs(self):
        proof = os.path.join(self.folder, "proof")
        for protocol in (0, 2, 4):
            for value in (RunsACommand(proof), {1: {"fwd": RunsACommand(proof)}}):
                with self.subTest(protocol=protocol):
                    self.put("compute-profile-0", value, protocol)
                    self.refused("compute-profile-0: byte ", "names a class or calls a function")
                    self.assertFalse(os.path.exists(proof))
        for harmless in (None, True, {1, 2}, b"bytes", 1j):
            with self.subTest(value=harmless):
                self.put("compute-profile-0", harmless, 4)
                self.refused("compute-profile-0: byte ")

    def test_files_that_are_broken_are_refused(self):
        whole = pickle.dumps(block(1000), 4)
        for end in range(0, len(whole) - 1, 7):
            self.put("compute-profile-0", whole[:end])
            self.refused("not a whole pickle")
        self.put("compute-profile-0", b"\x80\x04\x94.")  # something kept of an empty stack
        self.refused("not a whole pickle")
        self.put("compute-profile-0", b"(l(")
        self.refused("not a whole pickle")
        self.put("compute-profile-0", b"}r\xff\xff\xff\x7f.")  # number 2^31 - 1 of the memo: no memory is taken
        self.refused("expected a dict that is not empty")

    def test_values_that_are_none_are_named_with_their_place(self):
        def with_change(key, value):
            changed = block(1000)
            changed[2][key] = value
            return changed
        for key, value, part in (("fwd", -1, "micro-batch size 2: fwd: expected a number from 0"),
                                 ("bwd", 0, "micro-batch size 2: bwd: expected a time > 0, got 0"),
                                 ("fwd", float("nan"), "got nan"),
                                 ("fwd", 10 ** 400, "fwd: expected a number"),
                                 ("max_memory", "much", "max_memory: expected a number"),
                                 ("acts_size", [1], "got a list")):
            with self.subTest(key=key, value=value):
                self.put("compute-profile-0", with_change(key, value))
                self.refused("compute-profile-0: ", part)
        self.put("compute-profile-0", {"1": {}})
        self.refused("expected whole numbers as keys, got '1'")
        self.put("compute-profile-0", {1: {"fwd": 1.0}})
        self.refused("there is no bwd")

    def test_a_gap_between_the_blocks_and_an_empty_folder_are_named(self):
        self.refused("compute-profile-0: there is no such file", code=3)
        self.put("compute-profile-0", block(1000))
        self.put("compute-profile-2", block(1000))
        self.refused("compute-profile-2 is there, but compute-profile-1 is not")

    def test_elements_are_no_bytes_without_their_size(self):
        self.put("compute-profile-0", block(1000))
        done, _ = self.convert("--cluster-out", "c.json", "--nodes", "2", "--gpus-per-node", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--cluster-out needs --element-size", done.stderr)


if __name__ == "__main__":
    PENSTOCK, CONVERTER = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=1)
