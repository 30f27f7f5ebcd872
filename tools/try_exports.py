#!/usr/bin/env python3
"""Gives exported jobs to the trainers' own code.

    try_exports.py PENSTOCK [--megatron DIR] [--bridge DIR] [--torchtitan DIR] [--deepspeed DIR]
                   [--models CONFIG...] [--plans 370] [--drawn 0] [--budget 20s] [--keep DIR]

DIR are clones of NVIDIA/Megatron-LM, NVIDIA-NeMo/Megatron-Bridge, pytorch/torchtitan (with its
tags) and deepspeedai/DeepSpeed; what is not named is left out. Plans some 300 jobs for them, exports
each, starts its run.sh with a torchrun that only writes down how it was called, and hands that to the
trainer: Megatron-LM's argument parser, its checks and its rules for layers per stage; the
configuration classes of Megatron-Bridge and torchtitan; DeepSpeed's configuration and its
PipelineModule. What comes back must be the plan's batch, precision, degrees and cuts. No GPU is
needed, nor PyTorch (tools/stand_ins.py). --drawn adds layouts drawn at random (seed 1128), which are
predicted and not searched: a second each, with context and expert parallelism, 8 bits, sharding and
offload. Run it in the repository's root. Exit code 1 when anything differs.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Model, device, GPUs and samples per step.
MODELS = [f"data/models/{name}.json" for name in
          ("llama-3-8b", "llama-3-70b", "gpt-6.7b", "nemotron-4-15b", "mixtral-8x7b", "deepseek-v2-lite")]
SIZES = [("h100-sxm", 8, 64), ("h100-sxm", 16, 128), ("h100-sxm", 32, 128), ("a100-80gb", 64, 512),
         ("h100-sxm", 128, 1024)]
PINS = [[], ["--pin", "P=1"], ["--pin", "P=2"], ["--pin", "P=4"], ["--pin", "P=8"],
        ["--pin", "P=4", "--schedule", "interleaved"], ["--pin", "P=4", "--recompute", "full"],
        ["--pin", "P=2,T=1"], ["--pin", "P=4", "--zero1", "off"],
        ["--recompute", "full:as-needed", "--pin", "P=4"],
        ["--pin", "offload=optimizer"], ["--pin", "P=2,offload=optimizer", "--zero1", "off"],
        ["--pin", "P=2,CP=2"], ["--pin", "CP=4", "--sequence-length", "32768"], ["--pin", "EP=4"],
        ["--pin", "P=2,EP=2"], ["--precision", "float8"], ["--pin", "P=2", "--precision", "float8"],
        ["--sharding", "fsdp", "--fsdp-prefetch", "backward-post"], ["--sharding", "fsdp:8", "--pin", "P=2"],
        ["--sharding", "zero2"], ["--sharding", "zero3"]]
# --for, --to, the worker that judges it
TARGETS = [("megatron", "megatron", "megatron"), ("megatron", "megatron-bridge", "bridge"),
           ("torchtitan", "torchtitan@0.2", "titan02"),
           ("torchtitan@0.1", "torchtitan@0.1", "titan01"),
           ("torchtitan@head", "torchtitan@head", "titanhead"),
           ("deepspeed", "deepspeed", "deepspeed")]

TORCHRUN = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["TORCHRUN_CALL"], "w") as file:
    json.dump({"arguments": sys.argv[1:], "cwd": os.getcwd(),
               "CUDA_DEVICE_MAX_CONNECTIONS": os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS", "")}, file)
"""


def questions(count, models):
    """`count` of them, each kind of pins, size, model and trainer in turn."""
    plans_for = list(dict.fromkeys(target[0] for target in TARGETS))
    for i in range(count):
        trainer = plans_for[i % len(plans_for)]
        j = i // len(plans_for)
        model = models[j % len(models)]
        pins = PINS[(j // len(models) + j) % len(PINS)]
        yield i, trainer, model, SIZES[(j // len(models)) % len(SIZES)], pins


def planned(penstock, folder, budget, question):
    i, trainer, model, (device, gpus, batch), pins = question
    path = os.path.join(folder, f"plan{i}.json")
    precision = "float8" if "float8" in pins else "bfloat16"
    if os.path.exists(path):  # of an earlier run with --keep
        return i, trainer, model, path, precision
    command = [penstock, "plan", model, "--device", device, "--gpus",
               str(gpus), "--global-batch", str(batch), "--for", trainer, "--top", "1",
               "--threads", "1", "--budget", budget, *pins, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Interleaved for DeepSpeed, experts of a dense model.
    contradicts = done.returncode == 2 and done.stderr.startswith("error: ")
    if done.returncode not in (0, 1, 4) and not contradicts:
        raise SystemExit(f"{command}: {done.stderr}")
    return (i, trainer, model, path, precision) if os.path.exists(path) else None


# What a drawn layout may have, per trainer that it is for.
SHARDINGS = {"megatron": ["none", "zero1", "zero2", "zero3"], "deepspeed": ["none", "zero1", "zero2", "zero3"]}


def drawn_layout(draw, trainer, model):
    """The words of --layout, and the precision. Exports refuse what the trainer cannot run."""
    experts = ("mixtral" in model or "qwen3" in model or "deepseek" in model) and trainer == "megatron"
    pipeline, tensor, data = draw.choice([1, 2, 4, 8]), draw.choice([1, 2, 4, 8]), draw.choice([1, 2, 4, 8])
    context = draw.choice([1, 1, 2]) if trainer != "deepspeed" else 1
    size = draw.choice([1, 2])
    count = draw.choice([1, 2, 4]) * max(pipeline, 2)
    words = {"TP": tensor, "PP": pipeline, "DP": data, "CP": context, "mbs": size, "gbs": data * size * count,
             "seq": 8192 if context > 1 else draw.choice([2048, 4096])}
    if experts:
        words["EP"] = draw.choice([1, 2, 4, 8])
    if trainer == "deepspeed" or pipeline == 1:
        words["schedule"] = "1f1b"
    else:
        words["VP"] = draw.choice([1, 2])
        words["schedule"] = "interleaved" if words["VP"] > 1 else "1f1b"
    sharding = draw.choice(SHARDINGS.get(trainer, ["none", "fsdp"]))
    if sharding in ("zero2", "zero3"):
        words["PP"], words["schedule"] = 1, "1f1b"
        words.pop("VP", None)
    words["sharding"] = sharding
    words["recompute"] = draw.choice(["none", "full", "selective"] if trainer != "deepspeed" else ["none", "full"])
    if sharding == "zero1" and draw.random() < 0.5:
        words["offload"] = "optimizer"
    return words, "float8" if draw.random() < 0.25 else "bfloat16"


def drawn(penstock, folder, count, models):
    """Plan files of `count` layouts that the trainer they are for can run."""
    draw = random.Random(1128)
    plans_for = list(dict.fromkeys(target[0] for target in TARGETS))
    found, asked = [], 0
    while len(found) < count and asked < 20 * count:
        asked += 1
        trainer, model = plans_for[asked % len(plans_for)], models[asked // len(plans_for) % len(models)]
        words, precision = drawn_layout(draw, trainer, model)
        path = os.path.join(folder, f"drawn{asked}.json")
        done = subprocess.run([penstock, "predict", model, "--device", "h100-sxm", "--for", trainer,
                               "--precision", precision, "-o", path,
                               "--layout", " ".join(f"{key}={value}" for key, value in words.items())],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1, 2):
            raise SystemExit(f"{words}: {done.stderr}")
        if done.returncode == 0 and os.path.exists(path):  # it fits
            found.append((f"-drawn{asked}", trainer, model, path, precision))
    return found


def exported(penstock, folder, plan, target, clones):
    """The job's folder and how its run.sh calls torchrun; or what went wrong."""
    i, _, model, path, precision = plan
    name = target[1].replace("@", "-")
    job = os.path.join(folder, f"job{i}-{name}")
    done = subprocess.run([penstock, "export", path, "--to", target[1], "-o", job],
                          capture_output=True, text=True, check=False)
    if done.returncode == 1 and i is not None and "drawn" in str(i):
        return {"refused": done.stdout}
    if done.returncode != 0:
        return {"error": f"export {path} --to {target[1]}: {done.stdout}{done.stderr}"}
    call = os.path.join(job, "call.json")
    environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"],
                   "TORCHRUN_CALL": call, "NODE_RANK": "0", "MASTER_ADDR": "node0",
                   "MEGATRON": clones.get("megatron") or folder, "HF_MODEL": "model",
                   "TORCHTITAN": clones.get("torchtitan") or folder, "TRAIN": "train.py"}
    run = subprocess.run(["bash", os.path.join(job, "run.sh")], capture_output=True, text=True,
                         check=False, env=environment, cwd="/")
    if run.returncode != 0:
        return {"error": f"{job}/run.sh: {run.stderr}"}
    with open(call, encoding="utf-8") as file:
        return {"plan": path, "model": model, "folder": job, "check": check(penstock, job, target),
                "precision": precision,
                **json.load(file)}


def check(penstock, job, target):
    """What `penstock check` finds in the job's file; nothing of Megatron-Bridge, which it has no
    rules for."""
    if target[1] == "megatron-bridge":
        return ""
    version = ["--target-version", target[1].partition("@")[2]] if "@" in target[1] else []
    done = subprocess.run([penstock, "check", os.path.join(job, first_file(job)), *version],
                          capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def first_file(job):
    for name in ("megatron_args.sh", "torchtitan.toml", "penstock_plan.py", "ds_config.json"):
        if os.path.exists(os.path.join(job, name)):
            return name
    raise SystemExit(f"{job}: none of its files is one that check reads")


def judged(worker, clone, jobs):
    done = subprocess.run([sys.executable, os.path.join(HERE, "trainer_code.py"), worker, clone],
                          input=json.dumps(jobs), capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("VERDICT ")]
    if len(lines) != len(jobs):
        print(done.stdout[-2000:], done.stderr[-4000:])
        return [{"error": f"{worker}: its code did not run to the end"}] * len(jobs)
    return [json.loads(line[len("VERDICT "):]) for line in lines]


def commit_of(clone, what="HEAD"):
    done = subprocess.run(["git", "-C", clone, "log", "-1", "--format=%H %cs", what],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip()


def version_folder(clone, tag, folder):
    """The files of a tag, without touching the clone's work tree."""
    target = os.path.join(folder, "titan-" + tag)
    os.makedirs(target)
    archive = subprocess.run(["git", "-C", clone, "archive", tag, "torchtitan"],
                             capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", target], input=archive.stdout, check=True)
    return target


def sources(clones, folder):
    """By worker: the folder of its code and the commit that it is of."""
    found = {}
    for worker, clone in (("megatron", "megatron"), ("bridge", "bridge"),
                          ("titanhead", "torchtitan"), ("deepspeed", "deepspeed")):
        if clones.get(clone):
            found[worker] = (os.path.abspath(clones[clone]), commit_of(clones[clone]))
    if clones.get("torchtitan"):
        for worker, tag in (("titan01", "v0.1.0"), ("titan02", "v0.2.2")):
            found[worker] = (version_folder(clones["torchtitan"], tag, folder),
                             tag + " " + commit_of(clones["torchtitan"], tag))
    if "bridge" in found and "megatron" in found:  # it imports Megatron's core
        found["bridge"] = (found["bridge"][0] + os.pathsep + found["megatron"][0],
                           found["bridge"][1])
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("penstock")
    for name in ("megatron", "bridge", "torchtitan", "deepspeed"):
        parser.add_argument("--" + name)
    parser.add_argument("--models", nargs="+", default=MODELS, metavar="CONFIG")
    parser.add_argument("--plans", type=int, default=370, help="questions; some have no answer")
    parser.add_argument("--drawn", type=int, default=0, help="layouts drawn at random, besides")
    parser.add_argument("--budget", default="20s", help="of each search; the best so far is tried")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep")
    return parser.parse_args()


def main():
    asked = arguments()
    clones = {name: getattr(asked, name) and os.path.abspath(getattr(asked, name))
              for name in ("megatron", "bridge", "torchtitan", "deepspeed")}
    penstock = os.path.abspath(asked.penstock)
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or temporary
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "torchrun"), "w", encoding="utf-8") as file:
            file.write(TORCHRUN)
        os.chmod(os.path.join(folder, "torchrun"), 0o755)
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            plans = [plan for plan in pool.map(lambda q: planned(penstock, folder, asked.budget, q),
                                               questions(asked.plans, asked.models)) if plan]
        missing = asked.plans - len(plans)
        plans += drawn(penstock, folder, asked.drawn, asked.models)
        print(f"{len(plans)} plans over {len({plan[2] for plan in plans})} models; "
              f"{missing} questions have no plan that fits")
        wrong = 0
        code = sources(clones, temporary)
        for target in TARGETS:
            if target[2] not in code:
                continue
            wrong += report(target, code[target[2]],
                            [exported(penstock, folder, plan, target, clones) for plan in plans
                             if plan[1] == target[0]])
    return 1 if wrong else 0


def reason_of(job):
    said = " ".join(job["refused"].split())
    return said[said.find("): ") + 3:].split(" the nearest plan")[0].split(" nearest plan")[0]


def report(target, source, jobs):
    refused = [job for job in jobs if "refused" in job]
    jobs = [job for job in jobs if "refused" not in job]
    runnable = [job for job in jobs if "error" not in job]
    verdicts = iter(judged(target[2], source[0], runnable))
    failures = [job["error"] if "error" in job else next(verdicts).get("error") for job in jobs]
    failures = [failure for failure in failures if failure]
    warned = [job for job in runnable if job["check"]]
    clean = f"; penstock check: {len(runnable) - len(warned)} without findings"
    print(f"{target[1]:16} {source[1]:58} {len(jobs) - len(failures)} of {len(jobs)} as planned"
          f"{'' if target[1] == 'megatron-bridge' else clean}")
    for text, count in collections.Counter(reason_of(job) for job in refused).most_common():
        print(f"  {count} drawn layouts were refused: {text}")
    for text, count in collections.Counter(failures).most_common(8):
        print(f"  {count} x {text}")
    for text, count in collections.Counter(job["check"] for job in warned).most_common(4):
        print(f"  check {count} x {text}")
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
