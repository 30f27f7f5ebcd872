#!/usr/bin/env python3
"""torchtitan's published steps and peaks of memory, predicted.

    tests/accuracy/torchtitan_steps.py PENSTOCK [--only TEXT]

Its cards have 96 GB of 2.4 TB/s and are held at 500 W, so that they compute slower than the datasheet's by a factor
that nobody published. One run is taken as given: the peak of the datasheet is lowered until that run takes what it
took; links keep their speed. (Every run is predicted at two peaks; between them a step is rest + compute / peak.) The
table has the run of 8B on 8 GPUs as the given one; the last column says for every run how far off the worst of the
others is when that run is the given one. Runs: torchtitan's benchmarks/llama3_h100_202412_torchtitan.md (2024) and
asyncTP_llama3_h100_2025-06_torchtitan.md (2025). With pipeline stages a step has as many micro-batches as ranks,
whatever the schedule (build_pipeline_schedule of 9dec370a: n_microbatches = pipeline_parallel_degree), interleaved two
stages a rank (generate_split_points).
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = Path("data/models")
SHARDED = "sharding=fsdp cp-kind=all-gather"
# name, model, layout, options, tokens of a sample, samples of a replica, replicas, GPUs, tokens/s of a GPU, GiB
ROWS = [
    ("8B, 8 GPUs, eager", "llama-3-8b", "FSDP=8 mbs=2 gbs=16 seq=8192 recompute=selective", "eager",
     8192, 2, 8, 8, 5762, 82.4),
    ("8B, 8 GPUs", "llama-3-8b", "FSDP=8 mbs=2 gbs=16 seq=8192 recompute=selective", "", 8192, 2, 8, 8, 6667, 77.0),
    ("8B, 8 GPUs, 8 bits", "llama-3-8b", "FSDP=8 mbs=2 gbs=16 seq=8192 recompute=selective", "float8",
     8192, 2, 8, 8, 8532, 76.8),
    ("8B, 128 GPUs, eager", "llama-3-8b", "FSDP=128 mbs=2 gbs=256 seq=8192 recompute=selective", "eager",
     8192, 2, 128, 128, 5605, 67.0),
    ("8B, 128 GPUs", "llama-3-8b", "FSDP=128 mbs=2 gbs=256 seq=8192 recompute=selective", "",
     8192, 2, 128, 128, 6514, 62.0),
    ("8B, 128 GPUs, 8 bits", "llama-3-8b", "FSDP=128 mbs=2 gbs=256 seq=8192 recompute=selective", "float8",
     8192, 2, 128, 128, 8380, 61.8),
    ("8B, 64 GPUs, T 8, b 12", "llama-3-8b", "FSDP=8 TP=8 mbs=12 gbs=96 seq=8192 recompute=selective", "",
     8192, 12, 8, 64, 4378, None),
    ("8B, 64 GPUs, T 8, b 12, 8 bits", "llama-3-8b", "FSDP=8 TP=8 mbs=12 gbs=96 seq=8192 recompute=selective",
     "float8", 8192, 12, 8, 64, 5078, None),
    ("70B, 256 GPUs, T 8, b 16", "llama-3-70b", "FSDP=32 TP=8 mbs=16 gbs=512 seq=8192 recompute=full", "",
     8192, 16, 32, 256, 597, None),
    ("70B, 256 GPUs, T 8, b 16, 8 bits", "llama-3-70b", "FSDP=32 TP=8 mbs=16 gbs=512 seq=8192 recompute=full",
     "float8", 8192, 16, 32, 256, 829, 71.9),
    ("405B, 512 GPUs, T 8 P 8, 1F1B, b 4", "llama-3-405b",
     "FSDP=8 TP=8 PP=8 mbs=4 gbs=256 seq=8192 recompute=full", "float8", 8192, 32, 8, 512, 100, 82.5),
    ("the same, interleaved, V 2", "llama-3-405b",
     "FSDP=8 TP=8 PP=8 VP=2 mbs=4 gbs=256 seq=8192 recompute=full", "float8", 8192, 32, 8, 512, 128, 72.7),
    ("405B, 32,768 tokens, b 1", "llama-3-405b", "FSDP=8 TP=8 PP=8 mbs=1 gbs=64 seq=32768 recompute=full", "float8",
     32768, 8, 8, 512, 76, 75.3),
    ("405B, 65,536, C 2", "llama-3-405b",
     f"CP=2 DP=4 {SHARDED} TP=8 PP=8 mbs=1 gbs=32 seq=65536 recompute=full", "float8", 65536, 8, 4, 512, 47, 75.9),
    ("405B, 131,072, C 4", "llama-3-405b",
     f"CP=4 DP=2 {SHARDED} TP=8 PP=8 mbs=1 gbs=16 seq=131072 recompute=full", "float8", 131072, 8, 2, 512, 31, 77.1),
    ("405B, 262,144, C 8", "llama-3-405b",
     f"CP=8 DP=1 {SHARDED} TP=8 PP=8 mbs=1 gbs=8 seq=262144 recompute=full", "float8", 262144, 8, 1, 512, 16, 84.9),
    ("8B, 32,768 tokens", "llama-3-8b", "FSDP=8 mbs=1 gbs=8 seq=32768 recompute=full", "float8",
     32768, 1, 8, 8, 3890, 83.9),
    ("8B, 65,536, C 2", "llama-3-8b", f"CP=2 DP=4 {SHARDED} mbs=1 gbs=4 seq=65536 recompute=full", "float8",
     65536, 1, 4, 8, 2540, 84.2),
    ("8B, 131,072, C 4", "llama-3-8b", f"CP=4 DP=2 {SHARDED} mbs=1 gbs=2 seq=131072 recompute=full", "float8",
     131072, 1, 2, 8, 1071, 84.0),
    ("8B, 262,144, C 8", "llama-3-8b", f"CP=8 DP=1 {SHARDED} mbs=1 gbs=1 seq=262144 recompute=full", "float8",
     262144, 1, 1, 8, 548, 84.5),
]
GIVEN = "8B, 8 GPUs"


def longer(name, folder):
    """The model's file with as many positions as the longest sequence has."""
    lines = (MODELS / f"{name}.json").read_text().splitlines()
    sizes = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    sizes["max_position_embeddings"] = 262144
    path = Path(folder) / f"{name}.json"
    path.write_text(json.dumps(sizes))
    return path


def card(peak, folder):
    """The datasheet with torchtitan's memory, and so much of its peak."""
    lines = Path("data/devices/h100-sxm.json").read_text().splitlines()
    sheet = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    sheet["memory_bytes"] = 96 * 10**9
    sheet["memory_bandwidth_bytes_per_s"] = 2.4e12
    for each in sheet["peaks"]:
        each["flops_per_s"] = round(each["flops_per_s"] * peak)
    path = Path(folder) / "card.json"
    path.write_text(json.dumps(sheet))
    return str(path)


def predicted(program, model, device, layout, options):
    asked = [program, "predict", str(model), "--device", device, "--for", "torchtitan", "--attention", "flash2",
             "--layout", layout, "--loss", "eager", "--json"]
    if options == "float8":
        asked += ["--precision", "float8"]
    if options == "eager":
        asked += ["--kernels", "eager"]
    run = subprocess.run(asked, capture_output=True, text=True, check=False)
    if not run.stdout.startswith("{"):
        sys.exit(f"{' '.join(asked)}\n{run.stderr}")
    answer = json.loads(run.stdout)["prediction"]
    return answer["step_time_ns"] * 1e-9, answer["peak_memory_bytes"] / 2**30


def at(run, peak):
    return run["rest"] + run["compute"] / peak


def peak_by(given):
    """By which that run takes what it took."""
    return given["compute"] / (given["measured"] - given["rest"])


def worst_by(given, runs):
    """The run that is furthest off when `given` is predicted as it was measured."""
    peak = peak_by(given)
    errors = [(at(run, peak) / run["measured"] - 1, run["name"]) for run in runs if run is not given]
    return max(errors, key=lambda error: abs(error[0]))


def predicted_runs(program, only=""):
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model, layout, options, tokens, samples, replicas, gpus, rate, peak in ROWS:
            if only not in name and name != GIVEN:
                continue
            path = longer(model, folder)
            fast, held = predicted(program, path, card(1.0, folder), layout, options)
            slow, _ = predicted(program, path, card(0.75, folder), layout, options)
            compute = (slow - fast) / (1 / 0.75 - 1)
            runs.append({"name": name, "measured": tokens * samples * replicas / (gpus * rate), "compute": compute,
                         "rest": fast - compute, "peak": peak, "held": held})
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="", help="runs whose name has this")
    asked = parser.parse_args()
    runs = predicted_runs(asked.program, asked.only)
    given = next(run for run in runs if run["name"] == GIVEN)
    share = peak_by(given)
    print(f"given {GIVEN}: {share:.3f} of the peak")
    for run in runs:
        time = at(run, share)
        held = f"{run['peak']:.1f} | {run['held']:.1f} | {100 * (run['held'] / run['peak'] - 1):+.1f} %" \
            if run["peak"] else f" | {run['held']:.1f} |"
        error, worst = worst_by(run, runs)
        print(f"| {run['name']} | {run['measured']:.3f} s | {time:.3f} s | {100 * (time / run['measured'] - 1):+.1f} % "
              f"| {held} | {100 * run['compute'] / share / time:.0f} % | {100 * error:+.1f} % ({worst}) |")


if __name__ == "__main__":
    main()
