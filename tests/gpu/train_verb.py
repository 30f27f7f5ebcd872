#!/usr/bin/env python3
"""`penstock train` on a GPU: a small GPT under every schedule, in every precision, as threads and as
processes, with a timeline; losses are those of one rank.

  train_verb.py PENSTOCK [--device cuda] [--plans FOLDER] [--only WORD]
  train_verb.py PENSTOCK --write-plans FOLDER
  train_verb.py PENSTOCK --share-gpu [--device cuda] [--plans FOLDER]

A build without the planner needs plans that another one has written (--write-plans). --device cpu
tries the script itself; fp16 is for GPUs only. Ranks are threads that share one GPU (loopback),
processes that share it or have one each (Gloo through pinned memory), and processes with a GPU each
(NCCL), where there are two. --share-gpu tries NCCL between two processes on one GPU, which NCCL refuses
on one host: each says that it is a host of its own (NCCL_HOSTID). What comes of it is printed. Skipped (77) where the program says that it has no GPU, unless
PENSTOCK_REQUIRE_GPU=1."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import small_gpt  # pylint: disable=wrong-import-position

STEPS = 4
LIMIT = 120  # seconds for one run
SHARED_LIMIT = 60  # seconds for one run of two processes that share a GPU over NCCL, if they can
LAYERS, SEQUENCE = 6, 32
SOURCE = "made up for tests/gpu/train_verb.py"
# Schedule, virtual stages per rank, pipeline ranks.
SCHEDULES = [("gpipe", 1, 2), ("1f1b", 1, 2), ("interleaved", 2, 2), ("grouped-interleaved", 2, 2),
             ("looped-bfs", 2, 2), ("zb-h1", 1, 2), ("interleaved-zb", 2, 2), ("zb-h2", 1, 2),
             ("zb-v", 2, 2), ("v-half", 2, 2), ("v-min", 2, 2), ("dualpipe-v", 2, 2),
             ("zb-1p", 1, 2), ("zb-2p", 1, 2), ("zb-auto", 1, 2), ("zb-v-auto", 2, 2),
             ("interleaved-overlap", 2, 2), ("1f1b", 1, 4)]
PRECISIONS = ("float64", "float32", "bfloat16", "float16")
# Of the loss, relative: sums are rounded in another order, and a GPU's matrix products too.
TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "bfloat16": 5e-2, "float16": 5e-2}


def profile(precision):
    return small_gpt.profile(SOURCE, LAYERS, SEQUENCE, precision, "gpu", hidden=64, tied=True)


def cluster(devices):
    return small_gpt.cluster(SOURCE, "one machine", devices, device="gpu", level="link")


def layouts():
    """Name, schedule, V, P, D, ZeRO-1, precision."""
    for precision in PRECISIONS:
        yield f"alone-{precision}", "1f1b", 1, 1, 1, False, precision
    for schedule, chunks, ranks in SCHEDULES:
        yield f"{schedule}-p{ranks}-float64", schedule, chunks, ranks, 1, False, "float64"
    for precision in PRECISIONS[1:]:
        yield f"1f1b-p2-{precision}", "1f1b", 1, 2, 1, False, precision
        yield f"zb-h1-p2-{precision}", "zb-h1", 1, 2, 1, False, precision
    yield "replicas-float64", "1f1b", 1, 1, 2, True, "float64"
    yield "replicas-float16", "1f1b", 1, 1, 2, True, "float16"


def write_plans(penstock, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, schedule, chunks, pipeline, data, zero1, precision in layouts():
        for what, value in (("profile", profile(precision)), ("cluster", cluster(pipeline * data))):
            (folder / f"{what}.json").write_text(json.dumps(value))
        made = subprocess.run(
            [penstock, "plan", folder / "profile.json", "--cluster", folder / "cluster.json", "--for",
             "penstock", "--global-batch", "8", "--schedule", schedule, "--pin",
             f"P={pipeline},D={data},V={chunks},b=1", "--zero1", "on" if zero1 else "off", "-o",
             folder / f"{name}.json"], capture_output=True, text=True, timeout=LIMIT, check=False)
        if made.returncode != 0:
            sys.exit(f"FAILED: the plan {name}: {made.stderr}")
    (folder / "corpus.txt").write_text("".join(f"{i} squared is {i * i}. " for i in range(4000)))


class Runs:
    def __init__(self, penstock, device, plans, scratch):
        self.penstock, self.device, self.plans, self.scratch = penstock, device, plans, scratch
        self.failures, self.count = [], 0

    def losses(self, plan, transport, *options):
        log = self.scratch / f"run-{self.count}.jsonl"
        run = subprocess.run(
            [self.penstock, "train", self.plans / f"{plan}.json", "--data",
             self.plans / "corpus.txt", "--steps", str(STEPS), "--device", self.device,
             "--transport", transport, "--log", log, "--time-out", "60s", *options],
            capture_output=True, text=True, timeout=LIMIT, check=False)
        if run.returncode == 3 and self.count == 0 and ("GPU" in run.stderr or "CUDA" in run.stderr):
            print(run.stderr)
            sys.exit(1 if os.environ.get("PENSTOCK_REQUIRE_GPU") == "1" else 77)
        self.count += 1
        if run.returncode != 0:
            raise RuntimeError(f"exit {run.returncode}: {run.stderr.strip()[-600:]}")
        steps = [json.loads(line) for line in log.read_text().splitlines()[1:]]
        for step in steps if "--timeline" in options else []:
            for rank in step["ranks"]:
                if any(begin is not None and end < begin
                       for begin, end in zip(rank["start_ns"], rank["end_ns"])):
                    raise RuntimeError(f"step {step['step']}: an action ends before it starts")
        return [step["loss"] for step in steps]

    def check(self, what, expected, precision, *run):
        try:
            losses = self.losses(*run)
            far = [(a, b) for a, b in zip(losses, expected)
                   if not abs(a - b) <= TOLERANCE[precision] * abs(b)]
            if len(losses) != len(expected) or far:
                raise RuntimeError(f"losses {losses}, expected {expected}")
            print(f"ok      {what}", flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"FAILED  {what}: {error}", flush=True)
            self.failures.append(what)


def shared_run(given, plan, scratch, port):
    """Losses of two ranks, each its own process and, to NCCL, host; or why there are none."""
    transport = "nccl" if given.device == "cuda" else "gloo"
    log = scratch / "shared.jsonl"
    log.unlink(missing_ok=True)
    ranks = []
    for rank in (0, 1):
        environment = {**os.environ, "NCCL_HOSTID": f"penstock-{rank}", "NCCL_SOCKET_IFNAME": "lo",
                       "PENSTOCK_JOB_TOKEN": "shared"}
        ranks.append(subprocess.Popen(
            [given.penstock, "train", plan, "--data", given.plans / "corpus.txt", "--steps", str(STEPS),
             "--device", given.device, "--transport", transport, "--log", log, "--time-out", "20s",
             "--rank", str(rank), "--ranks", "2", "--local-rank", str(rank), "--master",
             f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=environment))
    words, until = [], time.monotonic() + SHARED_LIMIT
    for rank in ranks:
        try:
            words.append(rank.communicate(timeout=max(1.0, until - time.monotonic()))[1].strip())
        except subprocess.TimeoutExpired:
            rank.kill()
            words.append(f"killed after {SHARED_LIMIT} s: {rank.communicate()[1].strip()}")
    if any(rank.returncode != 0 for rank in ranks):
        return None, " / ".join(word[-300:] for word in words)
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()[1:]], ""


def share_gpu(given, scratch):
    """An experiment: only losses that differ are a failure."""
    runs = Runs(given.penstock, given.device, given.plans, scratch)
    alone, wrong = runs.losses("alone-float64", "loopback"), 0
    for number, name in enumerate(("1f1b-p2-float64", "zb-h1-p2-float64", "replicas-float64")):
        losses, why = shared_run(given, given.plans / f"{name}.json", scratch, 29731 + number)
        if losses is None:
            print(f"no run  {name}: {why}", flush=True)
            continue
        far = len(losses) != len(alone) or any(
            not abs(a - b) <= TOLERANCE["float64"] * abs(b) for a, b in zip(losses, alone))
        wrong += far
        print(f"{'FAILED ' if far else 'ok     '} {name}: losses {losses}, alone {alone}", flush=True)
    return 1 if wrong else 0


def gpus(device):
    if device == "cpu":
        return 0
    found = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return found.stdout.count("GPU ")


def transports(device, ranks):
    """Of ranks beyond the first: threads; processes that share; processes with a GPU each."""
    yield "loopback"
    yield "gloo"
    if gpus(device) >= ranks:
        yield "nccl"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--plans", type=pathlib.Path)
    parser.add_argument("--write-plans", type=pathlib.Path)
    parser.add_argument("--share-gpu", action="store_true")
    parser.add_argument("--only", default="", help="runs whose name has this word in it")
    given = parser.parse_args()
    if given.write_plans:
        return write_plans(given.penstock, given.write_plans)
    with tempfile.TemporaryDirectory() as scratch:
        plans = given.plans or pathlib.Path(scratch) / "plans"
        if not given.plans:
            write_plans(given.penstock, plans)
        if given.share_gpu:
            given.plans = plans
            return share_gpu(given, pathlib.Path(scratch))
        runs = Runs(given.penstock, given.device, plans, pathlib.Path(scratch))
        alone = {}
        for name, _, _, pipeline, data, _, precision in layouts():
            if given.device == "cpu" and precision == "float16":
                continue
            if pipeline * data == 1:
                alone[precision] = runs.losses(name, "loopback", "--timeline")
                print(f"ok      {name}", flush=True)
                continue
            for transport in transports(given.device, pipeline * data):
                # One run of processes takes as long as several of threads: a few schedules do.
                if transport == "gloo" and not name.startswith(("1f1b-p2", "zb-h1", "replicas")):
                    continue
                what = f"{name} {transport}"
                if given.only in what:
                    runs.check(what, alone[precision], precision, name, transport, "--timeline")
        print(f"{runs.count} runs, {len(runs.failures)} failed")
        return 1 if runs.failures else 0


if __name__ == "__main__":
    sys.exit(main())
