#!/usr/bin/python3
"""An archive from Python, all the way: cut, profiled, planned and trained on one rank and on two.

    archive_cutpoints.py PENSTOCK

A small GPT as people write them: residual blocks in a ModuleList, embeddings that are added, dropout
of nothing, a head that is tied to the embedding. Skipped (77) where there is no PyTorch.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    sys.exit(77)

PENSTOCK = ""
LIMIT = 300  # seconds; a machine may be busy
WIDTH, TOKENS = 16, 12
SOURCE = "made up for tests/cli/archive_cutpoints.py"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.0)

    def attend(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(c, dim=2)
        weights = (q @ k.transpose(-2, -1)) * (c ** -0.5)
        mask = torch.tril(torch.ones(t, t, device=x.device)) == 0
        weights = functional.softmax(weights.masked_fill(mask, float("-inf")), dim=-1)
        return self.drop(self.out((weights @ v).view(b, t, c)))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.down(functional.gelu(self.up(self.ln_2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(256, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        b, t = ids.size()
        assert t <= 12
        x = self.wte(ids) + self.wpe(torch.arange(t, device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class InPlace(nn.Module):
    """Changes what a view of it shows."""

    def __init__(self):
        super().__init__()
        self.wte, self.lm_head = nn.Embedding(256, WIDTH), nn.Linear(WIDTH, 256)

    def forward(self, ids):
        x = self.wte(ids) * 1.0
        flat = x.view(-1)
        x.mul_(2.0)
        return self.lm_head(x + flat.sum())


def cluster():
    return {
        "format": "penstock.cluster/1", "name": "this machine",
        "sources": [{"id": "made-up", "origin": "assumed", "text": SOURCE}],
        "device_types": [{"name": "cpu", "memory_bytes": 10**10, "reserve_bytes": 0,
                          "memory_bandwidth_bytes_per_s": 10**10}],
        "node_types": [{"name": "node", "device_type": "cpu", "devices": 2}],
        "nodes": [{"node_type": "node", "count": 1}],
        "levels": [{"name": "loopback", "latency_ms": 1, "bandwidth_bytes_per_s": 10**9}]}


class ArchiveCutpoints(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder_of_test = tempfile.TemporaryDirectory()
        cls.folder = cls.folder_of_test.name
        torch.manual_seed(1)
        for name, model in (("gpt", Gpt()), ("in_place", InPlace())):
            torch.jit.script(model).save(cls.path(f"{name}.pt"))
        model = Gpt().eval()
        torch.jit.trace(model, torch.zeros(2, TOKENS, dtype=torch.long)).save(cls.path("traced.pt"))
        with open(cls.path("cluster.json"), "w", encoding="utf-8") as file:
            json.dump(cluster(), file)
        with open(cls.path("data.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i} squared is {i * i}. " for i in range(2000)))

    @classmethod
    def tearDownClass(cls):
        cls.folder_of_test.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def penstock(self, *arguments, exit_code=0):
        result = subprocess.run([PENSTOCK, *arguments], timeout=LIMIT, capture_output=True, text=True,
                                cwd=self.folder, check=False)
        self.assertEqual(result.returncode, exit_code, result.stdout + result.stderr)
        return result

    def profile(self, archive, *options, exit_code=0):
        """What it said, and the profile."""
        result = self.penstock("profile", archive, "--sequence-length", str(TOKENS),
                               "--micro-batch-sizes", "1", "--beside", "0", "--spread", "100",
                               "--budget", "20s", "-o", "profile.json", *options,
                               exit_code=exit_code)
        if exit_code != 0:
            return result.stderr, None
        with open(self.path("profile.json"), encoding="utf-8") as file:
            return result.stdout, json.load(file)

    def losses(self, pipeline):
        plan, log = f"plan-{pipeline}.json", f"run-{pipeline}.jsonl"
        self.penstock("plan", "profile.json", "--cluster", "cluster.json", "--for", "penstock",
                      "--global-batch", "4", "--pin", f"P={pipeline},D=1,b=1", "-o", plan)
        self.penstock("train", plan, "--data", "data.txt", "--steps", "5", "--log", log,
                      "--no-pinning")
        with open(self.path(log), encoding="utf-8") as file:
            return [json.loads(line)["loss"] for line in file.read().split("\n")[1:] if line]

    AUTOMATIC = ["wte", "add", "blocks.0.add", "blocks.0", "blocks.1.add", "blocks.1"]

    def test_a_residual_archive_trains_alike_on_one_rank_and_on_two(self):
        _, profile = self.profile("gpt.pt")
        self.assertEqual(profile["description"]["cutpoints"], self.AUTOMATIC)
        self.assertEqual([s["name"] for s in profile["sections"]], self.AUTOMATIC + ["lm_head"])
        types = [s["type"] for s in profile["sections"]]
        self.assertEqual(types[2:4], types[4:6], "both blocks cost the same")
        self.assertEqual(len(set(types)), 5)
        self.assertEqual([t["sections"] for t in profile["tied_weights"]], [["wte", "lm_head"]])
        one, two = self.losses(1), self.losses(2)
        self.assertEqual(len(one), 5)
        self.assertLess(one[-1], one[0])
        for a, b in zip(one, two):
            self.assertAlmostEqual(a, b, delta=1e-5 * abs(a))

    def test_a_traced_archive_is_cut_at_its_blocks_too(self):
        _, profile = self.profile("traced.pt", "--cutpoints", "children")
        self.assertEqual(profile["description"]["cutpoints"],
                         ["wte", "blocks.0", "blocks.1", "ln_f"])

    def test_cutpoints_can_be_named_and_a_wrong_one_is_answered(self):
        _, profile = self.profile("gpt.pt", "--cutpoints", "blocks.0,add")
        self.assertEqual(profile["description"]["cutpoints"], ["add", "blocks.0"])
        words, _ = self.profile("gpt.pt", "--cutpoints", "blocks.7", exit_code=2)
        self.assertEqual(words, "error: --cutpoints: no cutpoint \"blocks.7\" here; along the model "
                                "there are " + ", ".join(self.AUTOMATIC + ["ln_f"]) + "\n")

    def test_an_archive_without_cutpoints_is_one_section_and_that_is_said(self):
        words, profile = self.profile("in_place.pt")
        self.assertEqual([s["name"] for s in profile["sections"]], ["model"])
        self.assertIn("the archive is one section, since its forward changes a value in place that is",
                      " ".join(words.split()))


if __name__ == "__main__":
    PENSTOCK = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
