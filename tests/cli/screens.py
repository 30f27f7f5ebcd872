#!/usr/bin/env python3
"""Usage: screens.py PENSTOCK. In a terminal of 60 to 200 columns no line of any verb is longer.

Exempt are lines that are one word, such as a path. `plan` answers in at most 20 lines. Run from the
repository root."""
import os
import subprocess
import sys
import tempfile

PROFILE = "data/profiles/gpt-6.7b.a100-40gb.json"
CLUSTER = "--cluster data/clusters/a100-40gb-p4d-8x8.json"
CONFIG = "data/models/gpt2.json --device a100"
COSTS = "--cost F=10ms,I=10ms,W=10ms,C=0.5ms"
RUNS = "tests/report/imports/data"
# In this order: the first writes the plan that others read. {0} is a folder of this test.
COMMANDS = [
    f"plan {PROFILE} {CLUSTER} --gpus 8 --global-batch 16 --sequence-length 2048 "
    "--pin P=4,T=2,b=1 --recompute none --schedule 1f1b -o {0}/plan.json",
    f"plan {PROFILE} {CLUSTER} --gpus 8 --global-batch 16 --pin P=4,T=2 --schedule 1f1b,zb-h1 -v",
    f"plan {PROFILE} {CLUSTER} --gpus 1 --global-batch 16",
    f"plan {CONFIG} --gpus 8 --global-batch 64 --schedule 1f1b --tokens 300B --mtbf-hours 50000 "
    "--usd-per-gpu-hour 2.5",
    f"predict {CONFIG} --layout 'TP=2 PP=2 mbs=1 gbs=16'",
    "simulate {0}/plan.json --executor deepspeed --jitter-percent 5",
    f"schedule zb-h1 -P 4 -M 8 {COSTS} --print",
    f"schedule 1f1b,zb-h1,zb-v -P 4,8 -M 8,16 {COSTS} --per-rank",
    f"compare {PROFILE} {CLUSTER} --gpus 8 --global-batch 16 --pin P=4,T=2 --usd-per-gpu-hour 2 "
    "--vary schedule=1f1b,zb-h1 --vary mbs=1,2 --tokens 300B",
    "dynamic data/profiles/gpt-6.7b.a100-40gb.all-lengths.json --gpus 4 --pin TP=1,PP=4,VP=1 --batches 1 "
    f"--tokens-per-batch 4096 --replays 10 --lengths data/lengths/flan-cot.csv {CLUSTER}",
    "explain {0}/plan.json",
    "explain {0}/plan.json --why-not schedule=zb-h1",
    "calibrate --runs data/runs/opt-350m.gh200-96gb.json --executor deepspeed -o {0}/fitted.json",
    f"estimate {CONFIG}",
    f"validate {{0}}/plan.json {RUNS}/megatron.log",
    f"import nccl-tests {RUNS}/all_reduce.json {CLUSTER}",
    f"import nvbandwidth {RUNS}/nvbandwidth.json {CLUSTER}",
    "export {0}/plan.json --to megatron -o {0}/job",
    "report {0}/plan.json -o {0}/report.html",
    "trace {0}/plan.json -o {0}/step.json",
    "check {0}/plan.json",
    "check tests/golden/scripts/megatron.sh",
    "check tests/golden/scripts/torchtitan.toml --gpus 8",
    "multi data/multi/three-units.json --gpus 2",
    "multi data/multi/half-done.json --gpus 4",
    f"plan {CONFIG} --gpus 1 --global-batch 64 --spill",
    "plan data/models/llama-3-8b.json --device rtx-4090 --gpus 1 --global-batch 8 --spill -o {0}/spilled.json",
    "plan data/models/llama-3-8b.json --device rtx-4090 --gpus 1 --global-batch 8 --spill -v",
    "",
    "--help",
    # Mistakes
    "plna config.json",
    f"plan {PROFILE} --device h100-smx --gpus 8 --global-batch 8",
    "plan data/clusters/a100-40gb-p4d-8x8.json --cluster data/clusters/a100-40gb-p4d-8x8.json "
    "--global-batch 512",
    f"compare {PROFILE} {CLUSTER} --global-batch 512 --vary color=red,blue",
    "schedule interleaved -P 2 -V 2 -M 9 --cost F=1ms,B=2ms",
]
VERBS = ("plan predict simulate schedule compare dynamic multi explain calibrate devices estimate profile train validate "
         "import export report trace check fingerprint completions man").split()
WIDTHS = (60, 80, 120, 200)


def too_long(text, width):
    for line in text.splitlines():
        words = line.removesuffix(" \\").strip()
        if len(line) > width and " " in words:
            yield line


def main():
    penstock = os.path.abspath(sys.argv[1])
    wrong = 0
    commands = COMMANDS + [f"{verb} --help" for verb in VERBS]
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate(commands):
            # All at the narrowest; the others would only say the same of most.
            for width in WIDTHS if number == 0 or number % 6 == 5 else WIDTHS[:1]:
                line = f'"{penstock}" {command.format(folder)}'
                done = subprocess.run(line, shell=True, text=True, timeout=120, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      env={**os.environ, "COLUMNS": str(width), "NO_COLOR": "1"})
                if done.returncode > 3 or not done.stdout:
                    wrong += 1
                    print(f"penstock {command}: exit {done.returncode}\n{done.stdout}")
                for line in too_long(done.stdout, width):
                    wrong += 1
                    print(f"{width} columns: penstock {command}\n  {len(line)}: {line}")
                lines = done.stdout.count("\n")
                if command.startswith("plan") and done.returncode == 0 and lines > 20 and not any(
                        word in command for word in (" -v", "--help")):
                    wrong += 1
                    print(f"{width} columns: penstock {command}\n  {lines} lines, 20 at most")
    print(f"{len(commands)} commands, {wrong} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
