#!/usr/bin/env python3
"""Published steps in 8 bits and of models with experts, predicted.

    tests/accuracy/float8_and_experts.py PENSTOCK

Every run is predicted by the shipped figures. Of 8 bits, the share of a generation's 8-bit peak is the one (in steps
of 0.01) whose largest |ln(measured / predicted)| is least; the last column of the table predicts each run by the
share that the generation's others have. A share is changed by a datasheet with another 8-bit peak, at two of which
every run is predicted; between them a step is rest + products / share. Runs: NVIDIA NeMo 25.02 and
dgxc-benchmarking v25.04 (8 bits), MaxText (sharded as ZeRO-3, without PyTorch's copies), the archive of
Megatron-Bridge, whose performance recipes have gradients in 16 bits and Transformer Engine's cross-entropy, which
leaves its gradients in the logits' place (scripts/performance and perf_recipes/_common.py).
"""
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent.parent / "data"
MODELS = DATA / "models"
# name, model, device, layout, seconds
FLOAT8 = [
    ("8B", "llama-3-8b", "h100-sxm", "CP=2 DP=4 mbs=1 gbs=128 seq=8192 zero1=on", 9.33),
    ("8B, 128 GPUs", "llama-3-8b", "h100-sxm", "CP=2 DP=64 mbs=1 gbs=2048 seq=8192 zero1=on", 9.54),
    ("70B", "llama-3-70b", "h100-sxm", "TP=4 PP=8 VP=5 DP=2 mbs=1 gbs=128 seq=8192 zero1=on", 9.86),
    ("405B", "llama-3-405b", "h100-sxm", "TP=8 PP=8 VP=8 CP=2 DP=4 mbs=1 gbs=256 seq=8192 zero1=on", 12.37),
    ("405B, 576 GPUs", "llama-3-405b", "h100-sxm", "TP=8 PP=9 VP=7 CP=2 DP=4 mbs=1 gbs=252 seq=8192 zero1=on", 11.00),
    ("Nemotron-4 15B, T 2", "nemotron-4-15b", "h100-sxm", "TP=2 DP=32 mbs=2 gbs=256 seq=4096 zero1=on", 1.98),
    ("Nemotron-4 15B, T 4", "nemotron-4-15b", "h100-sxm", "TP=4 DP=16 mbs=4 gbs=256 seq=4096 zero1=on", 2.09),
    ("Nemotron-4 340B", "nemotron-4-340b", "h100-sxm", "TP=8 PP=8 VP=12 DP=4 mbs=1 gbs=64 seq=4096 zero1=on", 2.93),
    ("GPT-3 175B", "gpt-3-175b", "h100-sxm", "TP=4 PP=8 VP=6 DP=4 mbs=1 gbs=256 seq=2048 zero1=on", 5.626),
    ("MaxText 70B", "llama-3-70b", "h100-sxm", "DP=128 sharding=zero3 mbs=2 gbs=256 seq=8192 recompute=full", 9.074),
    ("MaxText 70B, 2048 GPUs", "llama-3-70b", "h100-sxm", "DP=2048 sharding=zero3:128 mbs=2 gbs=4096 seq=8192 recompute=full", 9.339),
    ("405B, GB200", "llama-3-405b", "gb200", "TP=4 PP=8 VP=8 CP=2 DP=2 mbs=1 gbs=64 seq=8192 zero1=on", 6.131),
    ("70B, 64 GB200", "llama-3-70b", "gb200", "FSDP=64 mbs=2 gbs=128 seq=8192", 128 * 8192 / 64 / 4040),
    ("8B, 8 B200", "llama-3-8b", "b200", "DP=8 mbs=2 gbs=128 seq=8192 zero1=on", 128 * 8192 / 8 / 30624),
]
EXPERTS = [
    ("Qwen3-30B, 16 GPUs", "qwen3-30b", "h100-sxm", "EP=16 DP=16 mbs=1 gbs=1024 seq=4096 zero1=on", 24.71),
    ("Qwen3-235B, T 2 EP 32", "qwen3-235b", "h100-sxm", "TP=2 PP=8 VP=4 EP=32 DP=16 mbs=1 gbs=2048 seq=4096 zero1=on", 19.7),
    ("Qwen3-235B, T 4 EP 8", "qwen3-235b", "h100-sxm", "TP=4 PP=8 VP=4 EP=8 DP=8 mbs=1 gbs=2048 seq=4096 zero1=on", 29.0),
    ("Qwen3-235B, P 32 EP 8", "qwen3-235b", "h100-sxm", "PP=32 EP=8 DP=8 mbs=1 gbs=2048 seq=4096 zero1=on", 24.2),
    ("Qwen3-235B, P 32 EP 8, all recomputed", "qwen3-235b", "h100-sxm",
     "PP=32 EP=8 DP=8 mbs=1 gbs=2048 seq=4096 zero1=on recompute=full", 24.2),
    ("GPT-OSS-120B, P 4 EP 8", "gpt-oss-120b", "h100-sxm", "PP=4 EP=8 DP=16 mbs=1 gbs=1280 seq=4096 zero1=on", 1280 * 4096 / 64 / 5984),
    ("DeepSeek-V3, 256 GB200", "deepseek-v3", "gb200", "PP=4 VP=4 EP=64 DP=64 mbs=1 gbs=4096 seq=4096 zero1=on", 4096 * 4096 / 256 / 3139),
]

# In no fit, and nothing was chosen on them: Megatron-Bridge's tables of NeMo containers 26.02.01, 26.04 and 26.04.01
# (docs/performance-summary-archive.md of 067f987d), every layout of these models on these devices once; what is
# overlapped and how tokens are dispatched as the recipe of that commit has it (src/megatron/bridge/perf_recipes).
# name, model, device, layout, precision, tokens/s of a GPU (the mean where several containers ran it)
LATER = [
    ("70B, 64 H100", "llama-3-70b", "h100-sxm", "TP=4 PP=8 VP=5 DP=2 mbs=1 gbs=256 seq=8192 zero1=on", "float8", 1645),
    ("405B, 1,024 H100", "llama-3-405b", "h100-sxm", "TP=8 PP=8 VP=8 CP=2 DP=8 mbs=1 gbs=1536 seq=8192 zero1=on",
     "float8", 328),
    ("Qwen3-30B, 16 H100, EP 16", "qwen3-30b", "h100-sxm", "EP=16 DP=16 mbs=1 gbs=1024 seq=4096 zero1=on", "float8",
     8930),
    ("Qwen3-30B, 16 H100, P 2 V 12 EP 8", "qwen3-30b", "h100-sxm",
     "PP=2 VP=12 EP=8 DP=8 mbs=1 gbs=1024 seq=4096 zero1=on", "float8", 9058),
    ("Qwen3-235B, 256 H100, T 2 P 8 V 4 EP 32", "qwen3-235b", "h100-sxm",
     "TP=2 PP=8 VP=4 EP=32 DP=16 mbs=1 gbs=8192 seq=4096 zero1=on schedule=interleaved-overlap", "float8 copies", 1670),
    ("70B, 64 GB200, FSDP 64, b 2", "llama-3-70b", "gb200", "FSDP=64 mbs=2 gbs=256 seq=8192", "float8", 4184),
    ("405B, 256 GB200, T 4 P 16 V 4", "llama-3-405b", "gb200",
     "TP=4 PP=16 VP=4 DP=4 mbs=1 gbs=1536 seq=8192 zero1=on", "float8", 841),
    ("Qwen3-30B, 8 B200, EP 8, b 4", "qwen3-30b", "b200", "EP=8 DP=8 mbs=4 gbs=512 seq=4096 zero1=on", "float8", 26897),
    ("Qwen3-30B, 8 GB200, EP 8, b 4", "qwen3-30b", "gb200", "EP=8 DP=8 mbs=4 gbs=512 seq=4096 zero1=on", "float8",
     26172),
    ("Qwen3-235B, 256 B200, P 8 EP 8", "qwen3-235b", "b200", "PP=8 EP=8 DP=32 mbs=1 gbs=8192 seq=4096 zero1=on",
     "float8", 3776),
    ("Qwen3-235B, 256 GB200, P 8 V 3 EP 32", "qwen3-235b", "gb200",
     "PP=8 VP=3 EP=32 DP=32 mbs=1 gbs=8192 seq=4096 zero1=on schedule=interleaved-overlap", "float8", 5676),
    ("GPT-OSS-120B, 64 B200, EP 8, b 4", "gpt-oss-120b", "b200", "EP=8 DP=64 mbs=4 gbs=1280 seq=4096 zero1=on",
     "bfloat16", 13307),
    ("GPT-OSS-120B, 64 GB200, EP 64, b 4", "gpt-oss-120b", "gb200", "EP=64 DP=64 mbs=4 gbs=1280 seq=4096 zero1=on",
     "bfloat16", 16289),
    ("DeepSeek-V3, 256 B200, P 16 EP 8", "deepseek-v3", "b200", "PP=16 EP=8 DP=16 mbs=1 gbs=4096 seq=4096 zero1=on",
     "float8", 2815),
    ("DeepSeek-V3, 256 B200, P 8 V 2 EP 32", "deepseek-v3", "b200",
     "PP=8 VP=2 EP=32 DP=32 mbs=1 gbs=4096 seq=4096 zero1=on schedule=interleaved-overlap", "float8", 3328),
    ("DeepSeek-V3, 256 GB200, P 4 V 4 EP 64", "deepseek-v3", "gb200",
     "PP=4 VP=4 EP=64 DP=64 mbs=1 gbs=4096 seq=4096 zero1=on", "float8", 4157),
]


def predicted(program, model, device, layout, options):
    """A step's seconds, and their least and most. `options`: the precision, and behind it `copies` where a token is
    sent once for each of its experts."""
    precision, *dispatch = options.split()
    asked = [program, "predict", str(model), "--device", device, "--layout", layout,
             "--precision", precision, "--gradients", "bfloat16", "--json"]
    if dispatch:
        asked += ["--expert-dispatch", dispatch[0]]
    if precision != "float8":
        asked += ["--loss", "in-place"]
    run = subprocess.run(asked, capture_output=True, text=True, check=False)
    if not run.stdout.startswith("{"):
        sys.exit(f"{' '.join(asked)}\n{run.stderr}")
    prediction = json.loads(run.stdout)["prediction"]
    return tuple(prediction[key] * 1e-9 for key in ("step_time_ns", "step_time_low_ns", "step_time_high_ns"))


def told_by(layout):
    return dict(pair.split("=") for pair in layout.split())


def ranks_of(layout):
    return math.prod(int(told_by(layout).get(axis, 1)) for axis in ("DP", "FSDP", "TP", "PP", "CP"))


def seconds_by_rate(layout, rate):
    """Of a step, by tokens a second of a GPU."""
    told = told_by(layout)
    return int(told["gbs"]) * int(told["seq"]) / ranks_of(layout) / rate


def without_comments(path):
    return json.loads("\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("//")))


def generation(device):
    return without_comments(DATA / "devices" / f"{device}.json")["generation"]


def with_peak(device, factor, folder):
    """The datasheet with another 8-bit peak, by which the share of it is another."""
    sheet = without_comments(DATA / "devices" / f"{device}.json")
    for peak in sheet["peaks"]:
        if peak["arithmetic"] == "float8":
            peak["flops_per_s"] = round(peak["flops_per_s"] * factor)
    path = Path(folder) / f"{device}.json"
    path.write_text(json.dumps(sheet))
    return str(path)


def seconds_at(run, factor):
    return run["rest"] + run["products"] / factor


def best_factor(runs, shipped):
    """Of the shipped share, by which the largest error of the runs is least, in steps of 0.01 of the peak."""
    def largest(share):
        return max(abs(math.log(run["seconds"] / seconds_at(run, share / shipped))) for run in runs)
    return min((share / 100 for share in range(20, 100)), key=largest) / shipped


def shipped_curve(of):
    curves = without_comments(DATA / "efficiency" / "fitted.json")["curves"]
    return next(curve for curve in curves if (curve["generation"], curve["width"]) == (of, "float8"))


def float8_runs(program, of=""):
    """Of one generation or of all, each predicted also by the share that the others of its generation have."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, model, device, layout, seconds in FLOAT8:
            if of not in ("", generation(device)):
                continue
            file = MODELS / f"{model}.json"
            time, _, _ = predicted(program, file, device, layout, "float8")
            slower, _, _ = predicted(program, file, with_peak(device, 0.8, folder), layout, "float8")
            products = (slower - time) / (1 / 0.8 - 1)
            runs.append({"name": name, "model": model, "layout": layout, "seconds": seconds, "time": time,
                         "products": products, "rest": time - products, "generation": generation(device)})
    for run in runs:
        others = [other for other in runs if other["generation"] == run["generation"] and other is not run]
        run["left_out"] = seconds_at(run, best_factor(others, shipped_curve(run["generation"])["products"]))
    return runs


def float8(program):
    runs = float8_runs(program)
    for run in runs:
        print(f"| {run['name']} | {run['layout']} | {run['seconds']:.3f} s | {run['time']:.3f} s "
              f"| {100 * (run['time'] / run['seconds'] - 1):+.1f} % "
              f"| {100 * (run['left_out'] / run['seconds'] - 1):+.1f} % |")
    for of in sorted({run["generation"] for run in runs}):
        shipped = shipped_curve(of)["products"]
        factor = best_factor([run for run in runs if run["generation"] == of], shipped)
        print(f"{of}: the share of these runs is {shipped * factor:.2f}, shipped {shipped:.2f}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    float8(program)
    for name, model, device, layout, seconds in EXPERTS:
        time, _, _ = predicted(program, MODELS / f"{model}.json", device, layout, "bfloat16")
        print(f"| {name} | {layout} | {seconds:.3f} s | {time:.3f} s | {100 * (time / seconds - 1):+.1f} % |")
    for name, model, device, layout, precision, rate in LATER:
        time, _, _ = predicted(program, MODELS / f"{model}.json", device, layout, precision)
        seconds = seconds_by_rate(layout, rate)
        print(f"| {name} | {seconds:.3f} s | {time:.3f} s | {100 * (time / seconds - 1):+.1f} % |")


if __name__ == "__main__":
    main()
