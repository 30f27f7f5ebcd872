#!/usr/bin/python3
"""What other tools read, read by their own languages.

    check_exports.py PENSTOCK

Plans a model, exports the plan to every target, and lets bash, TOML, JSON and Python read the files;
the modules that those import are stood in for by ones that only record what they are told. Then
writes traces and unpacks the archive. Exits with 77 (skipped) where this Python has no tomllib.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import types

try:
    import tomllib
except ImportError:
    print("skipped: this Python has no tomllib (3.11 has)")
    sys.exit(77)

MODEL = ["data/profiles/llama-3-8b.json", "--cluster", "data/clusters/gh200-96gb-16x4.json"]
QUESTION = ["--gpus", "8", "--global-batch", "32", "--threads", "1"]


class Checker:
    def __init__(self, penstock, folder):
        self.penstock, self.folder = penstock, folder

    def run(self, *arguments, code=0):
        done = subprocess.run([self.penstock, *arguments], capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def plan(self, name, *pins):
        self.run("plan", *MODEL, *QUESTION, *pins, "-o", self.path(name))
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def export(self, plan, target, version):
        folder = self.path(f"{plan}.{target}.{version}")
        self.run("export", self.path(plan), "--to", target, "--target-version", version, "-o",
                 folder)
        return folder


def text_of(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


def megatron(checker, name, plan):
    folder = checker.export(name, "megatron", "0.20")
    script = f'set -eu; source {folder}/megatron_args.sh; printf "%s\\n" "${{PENSTOCK_ARGS[@]}}"'
    words = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                           check=True).stdout.split("\n")[:-1]
    value = dict(zip(words, words[1:]))
    decisions = plan["plan"]
    assert int(value["--pipeline-model-parallel-size"]) == decisions["pipeline"]
    assert int(value["--global-batch-size"]) % (int(value["--micro-batch-size"]) *
                                                decisions["data"]) == 0
    # Every cell of the layout arrives as one word, unharmed by the shell.
    assert value["--pipeline-model-parallel-layout"].startswith("Et")
    assert value["--pipeline-model-parallel-layout"].endswith("L")


def sections_of(plan):
    cuts = plan["plan"]["cuts"]
    return [plan["sections"][a:b] for a, b in zip(cuts, cuts[1:])]


def check_modules(parts, plan, head):
    decisions = plan["plan"]
    assert len(parts) == decisions["pipeline"] * decisions["chunks"]
    layers = len([name for name in plan["sections"] if name.startswith("layer.")])
    flat = [name for part in parts for name in part]
    assert flat == ["tok_embeddings", *(f"layers.{i}" for i in range(layers)), "norm", head]
    for part, stage in zip(parts, sections_of(plan)):
        assert sum(name.startswith("layers.") for name in part) == sum(
            name.startswith("layer.") for name in stage)


def torchtitan(checker, name, plan):
    decisions = plan["plan"]
    folder = checker.export(name, "torchtitan", "0.2")
    config = tomllib.loads(text_of(folder, "torchtitan.toml"))
    parallelism, training = config["parallelism"], config["training"]
    check_modules(parallelism["module_fqns_per_model_part"], plan, "output")
    micro_batches = training["local_batch_size"] // parallelism["pipeline_parallel_microbatch_size"]
    assert training["local_batch_size"] * decisions["data"] == decisions["global_batch"]
    csv = text_of(folder, parallelism["pipeline_parallel_schedule_csv"])
    rows = csv.splitlines()
    assert len(rows) == decisions["pipeline"]
    assert sum(cell[0] == "0" and "F" in cell for cell in rows[0].split(",")) == micro_batches
    assert parallelism["data_parallel_replicate_degree"] * parallelism[
        "data_parallel_shard_degree"] == decisions["data"]

    old = tomllib.loads(text_of(checker.export(name, "torchtitan", "0.1"), "torchtitan.toml"))
    assert len(old["parallelism"]["pipeline_parallel_split_points"]) == len(sections_of(plan)) - 1

    class Anything(types.SimpleNamespace):
        pass

    for package in ("torchtitan", "torchtitan.trainer", "torchtitan.distributed",
                    "torchtitan.distributed.activation_checkpoint"):
        sys.modules[package] = types.ModuleType(package)
    sys.modules["torchtitan.trainer"].Trainer = Anything(Config=object)
    for policy in ("FullAC", "SelectiveAC"):
        setattr(sys.modules["torchtitan.distributed.activation_checkpoint"], policy,
                Anything(Config=lambda name=policy: name))
    folder = checker.export(name, "torchtitan", "head")
    module = {"__file__": os.path.join(folder, "penstock_plan.py")}
    exec(compile(text_of(folder, "penstock_plan.py"), "penstock_plan.py", "exec"), module)
    checks = []
    config = Anything(training=Anything(), parallelism=Anything(),
                      __post_init__=lambda: checks.append("its own"))
    assert module["planned"](config) is config
    check_modules(config.parallelism.module_fqns_per_model_part, plan, "lm_head")
    assert checks == ["its own"]
    policy = {"none": None, "full": "FullAC", "selective": "SelectiveAC"}[decisions["recompute"]]
    assert config.activation_checkpoint == policy
    assert os.path.isfile(config.parallelism.pipeline_parallel_schedule_csv)
    assert config.parallelism.num_pp_microbatches == micro_batches
    assert config.training.num_tokens_per_train_step == config.parallelism.num_pp_microbatches * (
        config.training.num_tokens_per_microbatch_per_dp_rank * decisions["data"])


def deepspeed(checker, name, plan):
    decisions = plan["plan"]
    folder = checker.export(name, "deepspeed", "0.19")
    config = json.loads(text_of(folder, "ds_config.json"))
    assert config["train_batch_size"] == config["train_micro_batch_size_per_gpu"] * (
        config["gradient_accumulation_steps"] * decisions["data"])

    class Topology:
        def __init__(self, axes, dims):
            self.axes, self.dims = axes, dims

        def get_dim(self, axis):
            return self.dims[self.axes.index(axis)]

        def get_coord(self, rank):
            place = {}
            for axis, size in reversed(list(zip(self.axes, self.dims))):
                place[axis], rank = rank % size, rank // size
            return types.SimpleNamespace(**place)

    class PipelineModule:
        rank = 0

        def __init__(self, layers, topology, num_stages=None):
            self._layer_specs, self._topo = list(layers), topology
            self.global_rank = PipelineModule.rank
            self._partition_layers()

        def _set_bounds(self, start, stop):
            self.built = self._layer_specs[start:stop]

    for module in ("deepspeed", "deepspeed.pipe", "deepspeed.runtime", "deepspeed.runtime.pipe",
                   "deepspeed.runtime.pipe.topology"):
        sys.modules[module] = types.ModuleType(module)
    sys.modules["deepspeed.pipe"].PipelineModule = PipelineModule
    sys.modules["deepspeed.runtime.pipe.topology"].ProcessTopology = Topology
    module = {}
    exec(compile(text_of(folder, "penstock_pipeline.py"), "penstock_pipeline.py", "exec"), module)
    pipeline, data = decisions["pipeline"], decisions["data"]
    for stage in range(pipeline):
        for replica in range(data):
            inner = decisions["placement"] == "pipeline_inner"
            PipelineModule.rank = (replica * pipeline + stage if inner else stage * data + replica)
            built = module["PenstockPipelineModule"](layers=plan["sections"]).built
            assert built == sections_of(plan)[stage], (PipelineModule.rank, built)


# Stand in for torchrun, scontrol and srun: they write down how they were called.
TORCHRUN = """#!/bin/bash
printf '%s\\n' "$@" > "$CALL"
"""
SCONTROL = """#!/bin/bash
case "$2" in
  job) echo "   Command=$SBATCH_FILE";;
  hostnames) printf 'node7\\nnode8\\n';;
esac
"""
SRUN = """#!/bin/bash
while [[ "$1" == --* ]]; do shift; done
SLURM_NODEID=1 exec "$@"
"""


def starts(checker, name, plan):
    """run.sh and job.sbatch from another folder, of a job of two nodes."""
    tools = checker.path("tools")
    os.makedirs(tools)
    for tool, text in (("torchrun", TORCHRUN), ("scontrol", SCONTROL), ("srun", SRUN)):
        with open(os.path.join(tools, tool), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(os.path.join(tools, tool), 0o755)
    for target in ("megatron", "megatron-bridge", "torchtitan", "torchtitan@head", "deepspeed"):
        folder = checker.path("a job", target)
        checker.run("export", checker.path(name), "--to", target, "--model",
                    "data/models/llama-3-8b.json", "-o", folder)
        environment = {"PATH": tools + ":" + os.environ["PATH"], "CALL": checker.path("call"),
                       "MEGATRON": "/", "TORCHTITAN": "/", "HF_MODEL": "model", "TRAIN": "train.py",
                       "SLURM_JOB_ID": "123", "SLURM_JOB_NODELIST": "node[7-8]",
                       "SBATCH_FILE": os.path.join(folder, "job.sbatch")}
        done = subprocess.run(["bash", os.path.join(folder, "job.sbatch")], env=environment,
                              cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 0, (target, done.stderr)
        call = text_of(checker.path("call")).split("\n")
        for word in ("--nnodes=2", "--nproc_per_node=4", "--node_rank=1", "--master_addr=node7",
                     "--master_port=20123"):
            assert word in call, (target, word, call)
        for word in call:  # files are named by their whole path
            if word.startswith(folder):
                assert os.path.isfile(word), (target, word)
        # It says what it needs rather than starting half a job.
        done = subprocess.run(["bash", os.path.join(folder, "run.sh")], capture_output=True,
                              env={"PATH": environment["PATH"]}, text=True, check=False)
        assert done.returncode != 0 and "NODE_RANK" in done.stderr, (target, done.stderr)


def traces(checker, name, plan):
    trace = json.loads(checker.run("trace", checker.path(name)))
    assert trace["metadata"]["predicted_step_time_ns"] == plan["prediction"]["step_time_ns"]
    folder = checker.path("traces")
    checker.run("trace", checker.path(name), "--format", "kineto", "-o", folder)
    # The traces of the prediction, taken for a run, confirm it exactly.
    result = json.loads(checker.run("validate", checker.path(name), folder, "--json",
                                    "--tolerance-percent", "0"))
    assert result["notes"] == [], result["notes"]
    archive = checker.path("both.tar")
    checker.run("trace", checker.path(name), "--run", folder, "-o", archive)
    with open(archive, "rb") as file, tarfile.open(fileobj=io.BytesIO(file.read())) as tar:
        assert tar.getnames() == ["perfetto_manifest.json", "predicted.json", "measured.json"]
        for member in tar.getnames():
            json.load(tar.extractfile(member))


def main():
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(sys.argv[1], folder)
        plan = checker.plan("plan.json", "--pin", "P=4,D=2,T=1,b=1", "--schedule", "1f1b")
        for check in (megatron, torchtitan, deepspeed, starts, traces):
            check(checker, "plan.json", plan)
    print("bash, TOML, JSON, Python and tar read what the exporters wrote")


main()
