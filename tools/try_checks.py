#!/usr/bin/env python3
"""Runs `penstock check` on every launch file of checkouts of trainers, and prints each finding.

    tools/try_checks.py build/release/cli/penstock CHECKOUT...

A launch file is a script with flags of Megatron-LM or torchtitan, a TOML file with [parallelism], a JSON file
with keys of DeepSpeed, a Python file of torchtitan with ParallelismConfig(..), or of Megatron-Bridge and NeMo with
pipeline_model_parallel_size. Whether a finding is true a person must say;
docs/checking.md has the tally of one such reading. Needs Python 3 and nothing else.
"""

import collections
import json
import pathlib
import subprocess
import sys

SCRIPTS = (".sh", ".slurm", ".sbatch", ".sub")
MARKS = {
    ".toml": ("[parallelism]",),
    ".json": ("train_batch_size", "zero_optimization", "train_micro_batch"),
    ".py": ("ParallelismConfig(", "pipeline_model_parallel_size ="),
}
FLAGS = ("--tensor-model-parallel-size", "--pipeline-model-parallel", "--num-layers", "--micro-batch-size",
         "--global-batch-size", "--num-attention-heads", "--parallelism", "run_train.sh",
         "model_parallel_size=", "model_parallel_size ", "train.global_batch_size=", "actor_rollout_ref.",
         "trainer.n_gpus_per_node")
PYTHON = ("torchtitan", "megatron.bridge", "nemo.collections", "nemo_run")
MOST_BYTES = 1 << 20


def is_launch_file(path):
    marks = FLAGS if path.suffix in SCRIPTS else MARKS.get(path.suffix)
    if marks is None or path.is_symlink() or path.stat().st_size > MOST_BYTES:
        return False
    text = path.read_text(encoding="utf-8", errors="replace")
    return any(mark in text for mark in marks) and (path.suffix != ".py" or any(mark in text for mark in PYTHON))


def check(program, path):
    run = subprocess.run([program, "check", str(path), "--json"], capture_output=True, text=True, timeout=600)
    if run.returncode not in (0, 1, 2):
        sys.exit(f"{path}: exit code {run.returncode}\n{run.stderr}")
    report = json.loads(run.stdout)["report"] if run.returncode < 2 else {}
    return run.returncode, report.get("findings", []), run.stderr


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    codes, files, refused, clean = collections.Counter(), 0, 0, 0
    for root in map(pathlib.Path, sys.argv[2:]):
        for path in sorted(root.rglob("*")):
            if not path.is_file() or not is_launch_file(path):
                continue
            status, findings, complaint = check(sys.argv[1], path)
            files += 1
            refused += status == 2
            clean += status == 0
            if status == 2:
                print(f"{path}: refused: {complaint.splitlines()[0]}")
            for finding in findings:
                codes[finding["code"]] += 1
                print(f"{path}:{finding.get('line', 0)}: {finding['code']} {finding['message']}")
    print(f"{files} files: {clean} without findings, {refused} refused; findings: "
          + (", ".join(f"{code} {count}" for code, count in sorted(codes.items())) or "none"))


if __name__ == "__main__":
    main()
