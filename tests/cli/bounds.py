#!/usr/bin/env python3
"""Usage: bounds.py PENSTOCK [VERB...]. Numbers out of bounds in every option of every verb.

Each option that takes a value gets 10^9, -1, 0, 1e308, nan and nothing at all, beside a small
question; so do the keys of --layout, --pin, --vary and --cost. Reported are crashes, internal errors,
more than 10 s (or 20 s of processor, on several threads), more than 2 GiB, and answers that hold nan,
inf or a number of 19 digits. By hand, from the repository root, since it starts some thousands of
programs; docs/testing.md has the last result. Exit code 1 when anything is reported."""
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time

import mistake_rows

VALUES = ("1000000000", "-1", "0", "1e308", "nan", "")
ASKED = "small.json --device h100-sxm --gpus 8 --global-batch 16 --sequence-length 512"
LENGTHS = "all-lengths.json --cluster cluster.json --gpus 8 --lengths lengths.csv --tokens-per-batch 16384"
COMMANDS = {
    "plan": ["plan " + ASKED, "plan profile.json --cluster cluster.json --gpus 8 --global-batch 16 --top 2"],
    "predict": ["predict small.json --device h100-sxm --layout 'TP=1 PP=2 DP=4 mbs=1 gbs=16 seq=512'"],
    "simulate": ["simulate plan.json"],
    "schedule": ["schedule 1f1b -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms,C=0.5ms",
                 "schedule zb-auto -P 4 -M 8 --limit 8 --cost F=10ms,I=10ms,W=10ms,C=0.5ms"],
    "compare": ["compare " + ASKED + " --vary mbs=1,2"],
    "dynamic": ["dynamic " + LENGTHS],
    "morph": ["morph --book book.json --trace trace.csv"],
    "multi": ["multi models.json --gpus 4"],
    "explain": ["explain plan.json"],
    "calibrate": ["calibrate --runs runs.json"],
    "estimate": ["estimate small.json --device h100-sxm"],
    "profile": ["profile gpt --layers 1 --hidden 32 --heads 2 --sequence-length 16 --budget 5s -o p.json"],
    "train": ["train plan.json --data corpus.txt --steps 1"],
    "planner": ["planner plan.json --documents corpus.txt --profile all-lengths.json --cluster cluster.json "
                "--store redis://127.0.0.1:1 --job a --time-out 1s"],
    "manage": ["manage no_book.json"],
    "status": ["status job.json"],
    "tell": ["tell job.json stop"],
    "listen": ["listen job.json --cloud aws --machine a"],
    "validate": ["validate plan.json train.log"],
    "import": ["import nccl-tests table.txt --cluster cluster.json"],
    "export": ["export plan.json --to megatron"],
    "report": ["report plan.json -o r.html", "report " + ASKED + " -o r.html"],
    "trace": ["trace plan.json"],
    "check": ["check plan.json", "check train.sh"],
    "devices": ["devices h100-sxm"],
    "fingerprint": ["fingerprint"],
}
# It waits for what a cloud announces until it is stopped: that it goes on for a while is enough.
WAITS = ("listen",)
# Names that the answer repeats.
FILES = ("--output", "--csv", "--cluster-out", "--device-type", "--run-device", "--run-transport", "--run-started")
KEYS = {
    "predict": [("--layout", " ".join(f"{k}={'{}' if k == key else v}" for k, v in
                                      (("TP", 1), ("PP", 2), ("DP", 4), ("VP", 1), ("CP", 1), ("mbs", 1),
                                       ("gbs", 16), ("seq", 512))))
                for key in ("TP", "PP", "DP", "VP", "CP", "mbs", "gbs", "seq")],
    "plan": [("--pin", key + "={}") for key in ("TP", "PP", "DP", "VP", "CP", "EP", "mbs")],
    "compare": [("--vary", key + "={},2") for key in
                ("TP", "PP", "DP", "VP", "mbs", "gpus", "global-batch", "sequence-length", "bandwidth",
                 "memory-gib", "latency")],
    "schedule": [("--cost", ",".join(f"{k}={'{}ms' if k == key else '10ms'}" for k in "FIWC"))
                 for key in "FIWC"],
    "explain": [("--why-not", key + "={}") for key in ("TP", "PP", "DP", "VP", "mbs")],
}
LOG = "".join(f" iteration {i}/ 10 | elapsed time per iteration (ms): 1577{i}.0 |\n" for i in range(10))
SCRIPT = ("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
          "--num-attention-heads 32 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
          "--micro-batch-size 1 --global-batch-size 32 --seq-length 2048\n")


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (20, 21))
    resource.setrlimit(resource.RLIMIT_AS, (64 << 30, 64 << 30))
    resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))


def fault_of(command, folder):
    began = time.monotonic()
    waits = command[1] in WAITS
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False,
                              timeout=10 if waits else 300, preexec_fn=limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None if waits else "more than 300 s by the clock"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = min(time.monotonic() - began, processor)
    said = done.stderr.strip().split("\n")[-1][:120]
    if done.returncode not in (0, 1, 2, 3, 4):
        return f"exit {done.returncode}: {said}"
    if seconds > 10:
        return f"{seconds:.0f} s"
    if done.returncode == 2 and "error: " not in done.stderr:
        return "refused without a word"
    odd = re.search(r"(?<![\w.-])-?(nan|inf)(?![\w-])|(?<![\d.])\d{19,}", done.stdout)
    if odd and done.returncode < 2:
        return f"the answer holds {odd.group(0)}"
    return None


def options_of(penstock, verb):
    table = json.loads(subprocess.run([penstock, verb, "--help", "--json"], capture_output=True,
                                      text=True, check=True).stdout)
    for row in table["options"]:
        if row.get("value") and row["names"][0].startswith("-") and row["names"][-1] not in FILES:
            yield row["names"]


def without(words, names):
    words = list(words)
    while any(name in words for name in names):
        at = next(i for i, word in enumerate(words) if word in names)
        del words[at:at + 2]
    return words


def runs(penstock, verbs):
    for verb in verbs:
        for base in COMMANDS[verb]:
            words = shlex.split(base)
            for names in options_of(penstock, verb):
                for value in VALUES:
                    yield without(words, names) + [names[-1], value]
            for option, form in KEYS.get(verb, []):
                for value in VALUES:
                    yield without(words, [option]) + [option, form.format(value)]


def main():
    penstock, faults, count = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        mistake_rows.prepare(penstock, folder)
        for name, source in (("small.json", "models/opt-350m.json"), ("models.json", "multi/models.json"),
                             ("all-lengths.json", "profiles/gpt-6.7b.a100-40gb.all-lengths.json"),
                             ("lengths.csv", "lengths/flan-cot.csv"),
                             ("runs.json", "runs/gpt2-345m.h200-141gb.json")):
            os.symlink(os.path.abspath("data/" + source), os.path.join(folder, name))
        for name, text in (("train.log", LOG), ("train.sh", SCRIPT), ("corpus.txt", "some text " * 999),
                           ("table.txt", "")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        for words in runs(penstock, sys.argv[2:] or list(COMMANDS)):
            count += 1
            fault = fault_of([penstock] + words, folder)
            if fault:
                faults += 1
                print(f"penstock {shlex.join(words)}: {fault}", flush=True)
    print(f"{count} commands, {faults} reported")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
