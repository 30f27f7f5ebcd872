#!/usr/bin/env python3
"""A model measured from Python is planned by `penstock plan`: profile_and_plan.py PROGRAM.

Exits with 77 where there is no PyTorch."""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "profiler", "python"))

try:
    import torch
except ImportError:
    sys.exit(77)

import penstock_profile

CLUSTER = {
    "format": "penstock.cluster/1", "name": "one machine",
    "sources": [{"id": "test", "origin": "assumed", "text": "made up for a test"}],
    "device_types": [{"name": "cpu", "memory_bytes": 1 << 30, "reserve_bytes": 0,
                      "memory_bandwidth_bytes_per_s": 10**10}],
    "node_types": [{"name": "machine", "device_type": "cpu", "devices": 2}],
    "nodes": [{"node_type": "machine", "count": 1}],
    "levels": [{"name": "loopback", "latency_us": 50, "bandwidth_bytes_per_s": 10**9}],
}


def check_row(row, stash, boundary):
    assert row["forward_ns"] > 0 and row["fused_backward_ns"] > 0, row
    parts = row["input_gradient_ns"] + row["weight_gradient_ns"]
    assert parts >= row["fused_backward_ns"], row
    assert row["stash_bytes"] == stash, (row["stash_bytes"], stash)
    assert row["boundary_bytes"] == boundary, row


def main(program):
    torch.set_num_threads(1)
    # A linear layer of 32 x 32 and a GELU save their inputs, 8 x 32 floats each: 2,048 bytes. The
    # boundary is as large as one of them.
    block = lambda: torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.GELU())
    sections = [("input", torch.nn.Linear(4, 32))]
    sections += [(f"block.{i}", block(), "block") for i in range(3)]
    sections += [("output", torch.nn.Linear(32, 2))]
    with tempfile.TemporaryDirectory() as folder:
        profile, cluster = os.path.join(folder, "p.json"), os.path.join(folder, "c.json")
        written = penstock_profile.profile("small", sections, lambda b: torch.randn(8 * b, 4),
                                           profile, micro_batch_sizes=(1, 2))
        assert [t["name"] for t in written["section_types"]] == ["input", "block", "output"]
        rows = written["section_types"][1]["measurements"]
        assert [r["micro_batch_size"] for r in rows] == [1, 2]
        check_row(rows[0], 2048, 1024)
        check_row(rows[1], 4096, 2048)
        first = written["section_types"][0]["measurements"][0]
        assert first["input_gradient_ns"] == 0, first  # nobody needs that of the data
        assert written["section_types"][1]["parameters"][0]["count"] == 32 * 33
        with open(cluster, "w", encoding="utf-8") as file:
            json.dump(CLUSTER, file)
        done = subprocess.run([program, "plan", profile, "--cluster", cluster, "--gpus", "2",
                               "--global-batch", "8", "--json"], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert json.loads(done.stdout)["best"], "no plan"


if __name__ == "__main__":
    main(sys.argv[1])
