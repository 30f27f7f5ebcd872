"""The whole of `penstock profile --device cuda`: sections traced without anything left over, a
recording, copies, and links where there are two GPUs.

  profile_verb.py PENSTOCK

Skipped (77) where the program says that it has no GPU, unless PENSTOCK_REQUIRE_GPU=1."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SIZES = ["--layers", "2", "--hidden", "64", "--positions", "32", "--micro-batch-sizes", "2"]


def check(holds, what):
    if not holds:
        sys.exit("FAILED: " + what)


def check_trace(trace):
    check("void" not in trace, "the trace is void: " + trace.get("void", ""))
    check(trace["unattributed_ns"] == 0, "unattributed time")
    check(trace["steps"] >= 10, "ten traced steps")
    check(trace["untraced_step_ns"] > 0 and trace["traced_step_ns"] > 0, "the times of a step")
    seen = {(row.get("section"), row["phase"]) for row in trace["activity"]}
    phases = ["forward", "fused_backward", "input_gradient", "weight_gradient", "optimizer"]
    for section in ["block.0", "block.1"]:
        for phase in phases:
            check((section, phase) in seen, f"{section}, {phase} is traced")
    for row in trace["activity"]:
        check(row["covered"]["median_ns"] <= row["busy"]["median_ns"], "the union is not the sum")
        if row.get("section") == "block.0" and row["phase"] == "forward":
            check(row["kernels"] > 0, "a block launches kernels")


def check_copies(copies):
    ways = {(copy["way"], copy["memory"]) for copy in copies}
    check(len(ways) == 6, "six kinds of copies")
    check(all(copy["median_ns"] > 0 for copy in copies), "the times of copies")


def main(penstock):
    with tempfile.TemporaryDirectory() as folder:
        record, profile, cluster = (str(pathlib.Path(folder) / name) for name in
                                    ("activity.json", "profile.json", "cluster.json"))
        run = subprocess.run(
            [penstock, "profile", "gpt", *SIZES, "--device", "cuda", "--spread", "5", "--budget", "60s",
             "--links", "--largest", "1", "--record", record, "-o", profile,
             "--cluster-out", cluster, "--json"], capture_output=True, text=True)
        if run.returncode == 3 and os.environ.get("PENSTOCK_REQUIRE_GPU") != "1":
            print(run.stderr)
            return 77
        check(run.returncode == 0, f"exit {run.returncode}\n{run.stdout}\n{run.stderr}")
        result = json.loads(run.stdout)
        check(len(result["traces"]) == 1, "one size, one trace")
        check_trace(result["traces"][0])
        check_copies(result["copies"])
        if "links" not in result:
            check(any("NCCL needs two GPUs" in note for note in result["notes"]),
                  "why there are no links")
        recording = json.loads(pathlib.Path(record).read_text())
        check(recording["format"] == "penstock.activity/1", "the recording's format")
        check(recording["dropped_records"] == 0, "no record was lost")
        check(any(r["kind"] == "kernel" for r in recording["records"]), "kernels are recorded")
        check(json.loads(pathlib.Path(profile).read_text()) == result["profile"], "the profile")
        check(json.loads(pathlib.Path(cluster).read_text()) == result["cluster"], "the cluster")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
