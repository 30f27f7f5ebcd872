#!/usr/bin/python3
"""Thirty kinds of models, scripted and traced: cut, planned and trained, compared with a plain loop.

    train_models.py PENSTOCK [--table FILE] [--only NAME,NAME] [--how script,trace] [--layouts NAME,NAME]
                    [--transport loopback|gloo]

The plain loop is written here, with PyTorch alone: the samples as docs/training.md says that a seed draws them,
AdamW in double precision, gradients added up over the micro-batches of a step. What Penstock does not train it has
to refuse with exit code 2 and a reason. Without --only the few models are run that CI has time for; --only all runs
every one. Skipped (77) where there is no PyTorch.
"""

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model_zoo  # noqa: E402
import more_models  # noqa: E402

TEXT = "".join(f"{i} squared is {i * i}. " for i in range(500)).encode()
STEPS, BATCH, MICRO_BATCH, SEED, RATE = 4, 8, 2, 1, 1e-3
LAYOUTS = {
    "P1": ["--pin", "P=1,D=1,b=2", "--schedule", "1f1b"],
    "1f1b": ["--pin", "P=2,D=1,b=2", "--schedule", "1f1b"],
    "zb-h1": ["--pin", "P=2,D=1,b=2", "--schedule", "zb-h1"],
    "interleaved": ["--pin", "P=2,D=1,V=2,b=2", "--schedule", "interleaved"],
    "D2": ["--pin", "P=1,D=2,b=2", "--schedule", "1f1b", "--zero1", "off"],
    "ZeRO-1": ["--pin", "P=1,D=2,b=2", "--schedule", "1f1b", "--zero1", "on"],
    "FSDP": ["--pin", "P=1,D=2,b=2", "--schedule", "1f1b", "--sharding", "fsdp"],
    "recompute": ["--pin", "P=2,D=1,b=2", "--schedule", "1f1b", "--recompute", "full"],
}
IN_CI = ["gpt2-dropout", "t5", "batch-norm", "frozen-backbone", "moe-loss", "moe-tuple"]
RANDOM = ("gpt2-dropout", "torch-encoder-dropout")
RESUMED = ("batch-norm",)  # buffers that no gradient reaches are part of a checkpoint
MODELS = {**model_zoo.MODELS, **more_models.MODELS}
MASK = (1 << 64) - 1


def replicas_of(layout):
    return 2 if "D=2" in LAYOUTS[layout][1] else 1


def mixed(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def mixed_bits(*words):
    bits = 0
    for word in words:
        bits = mixed(bits ^ word)
    return bits


def sample(step, i):
    length = model_zoo.TOKENS
    begin = mixed_bits(SEED, step, i, 1, 0) % (len(TEXT) - length)
    return list(TEXT[begin:begin + length + 1])


def arguments_of(names, ids, targets):
    """As docs/training.md says what an argument of forward takes by its name."""
    later = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], dim=1)
    known = {"targets": targets, "labels": targets, "decoder_input_ids": later, "attention_mask": torch.ones_like(ids),
             "token_type_ids": torch.zeros_like(ids),
             "position_ids": torch.arange(ids.shape[1]).expand(ids.shape[0], -1)}
    return [known.get(name, ids) for name in names]


def argument_names(model):
    return model.forward.__code__.co_varnames[1:model.forward.__code__.co_argcount]


def loss_of(result, targets):
    if isinstance(result, dict):
        result = result["logits"]
    if isinstance(result, tuple):
        result = result[0]
    return result if result.dim() == 0 else model_zoo.loss_of(result, targets)


class Draws:
    """The random numbers of a run in a plain loop: every section begins with a seed of its own, made of the run's seed,
    step, first sample of the micro-batch and section. In front of the first draw of a section is soon enough."""

    def __init__(self, model, sections):
        self.draw, self.section = 0, None
        for name, module in model.named_modules():
            if isinstance(module, torch.nn.Dropout) and module.p > 0:
                module.register_forward_pre_hook(self.hook(self.section_of(name, sections)))

    @staticmethod
    def section_of(name, sections):
        """A perceptron's dropout is in the last section of its block, h.1."""
        block = ".".join(name.split(".")[:2])
        return max((i for i, end in enumerate(sections) if (end + ".").startswith(block + ".")), default=0)

    def hook(self, section):
        def seed_it(_module, _inputs):
            self.enter(section)
        return seed_it

    def enter(self, section):
        if section != self.section:
            torch.manual_seed(mixed_bits(self.draw, section))
        self.section = section

    def begin(self, step, first_sample):
        self.draw, self.section = mixed_bits(SEED, step, first_sample), None
        self.enter(0)


def plain_loop(model, names, replicas=1, sections=None):
    """Losses by step. The gradients of each replica's part of the batch are summed first, and then these sums: another
    order of the same additions, which only models that amplify rounding tell apart."""
    model = model.double().train()
    draws = Draws(model, sections) if sections else None
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0)
    losses = []
    for step in range(STEPS):
        sums = [None] * len(trained)
        total = 0.0
        for replica in range(replicas):
            optimizer.zero_grad(set_to_none=True)
            part = 0.0
            for first in range(replica * BATCH // replicas, (replica + 1) * BATCH // replicas, MICRO_BATCH):
                rows = torch.tensor([sample(step, i) for i in range(first, first + MICRO_BATCH)])
                ids, targets = rows[:, :-1].contiguous(), rows[:, 1:].contiguous()
                if draws:
                    draws.begin(step, first)
                loss = loss_of(model(*arguments_of(names, ids, targets)), targets) * (MICRO_BATCH / BATCH)
                loss.backward()
                part += loss.item()
            total += part
            sums = [p.grad if s is None else s if p.grad is None else s + p.grad for p, s in zip(trained, sums)]
        # A weight without a gradient is left alone by torch.optim; Penstock counts its gradient as zero.
        for parameter, gradient in zip(trained, sums):
            parameter.grad = gradient
        optimizer.step()
        losses.append(total)
    return losses


class Runner:
    def __init__(self, penstock, folder, transport="loopback"):
        self.penstock, self.folder, self.transport = penstock, folder, transport
        self.write("data.txt", TEXT.decode())
        self.write("cluster.json", json.dumps({
            "format": "penstock.cluster/1", "name": "this machine",
            "sources": [{"id": "made-up", "origin": "assumed", "text": "made up for train_models.py"}],
            "device_types": [{"name": "cpu", "memory_bytes": 10**10, "reserve_bytes": 0,
                              "memory_bandwidth_bytes_per_s": 10**10}],
            "node_types": [{"name": "node", "device_type": "cpu", "devices": 2}],
            "nodes": [{"node_type": "node", "count": 1}],
            "levels": [{"name": "loopback", "latency_ms": 1, "bandwidth_bytes_per_s": 10**9}]}))

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, *arguments):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.run([self.penstock, *arguments], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env=environment, check=False)

    def save(self, model, how):
        model = copy.deepcopy(model)
        if how == "script":
            archive = torch.jit.script(model)
        else:
            ids = torch.randint(0, model_zoo.VOCABULARY, (MICRO_BATCH, model_zoo.TOKENS))
            example = tuple(arguments_of(argument_names(model), ids, ids))
            archive = torch.jit.trace(model, example, check_trace=False, strict=False)
        archive.save(self.path("model.pt"))

    def profile(self):
        return self.run("profile", "model.pt", "--sequence-length", str(model_zoo.TOKENS), "--micro-batch-sizes",
                        str(MICRO_BATCH), "--beside", "0", "--spread", "100", "--budget", "20s", "--precision",
                        "float64", "--recompute", "none,full", "-o", "profile.json")

    def losses(self, layout, *options, steps=STEPS, checkpoints="ckpt"):
        """Losses, or the words of a refusal."""
        planned = self.run("plan", "profile.json", "--cluster", "cluster.json", "--for", "penstock", "--global-batch",
                           str(BATCH), "-o", "plan.json", *LAYOUTS[layout])
        if planned.returncode != 0:
            return None, f"plan: exit {planned.returncode}: {(planned.stderr or planned.stdout).strip()}"
        if os.path.exists(self.path("run.jsonl")):
            os.remove(self.path("run.jsonl"))
        trained = self.run("train", "plan.json", "--data", "data.txt", "--steps", str(steps), "--log", "run.jsonl",
                           "--transport", self.transport, "--no-pinning", "--checkpoints", checkpoints, *options)
        if trained.returncode != 0:
            return None, f"train: exit {trained.returncode}: {trained.stderr.strip()}"
        with open(self.path("run.jsonl"), encoding="utf-8") as file:
            return [json.loads(line)["loss"] for line in file.read().split("\n")[1:] if line], ""


    def sections_stored(self, checkpoints):
        """The bytes of each section's file, of the last step."""
        folder, files = self.path(f"{checkpoints}/step-{STEPS}"), {}
        for name in sorted(os.listdir(folder)):
            if name.endswith(".safetensors"):
                with open(os.path.join(folder, name), "rb") as file:
                    files[name] = file.read()
        return files

    def resumes_wrongly(self):
        """Whether a run that stops half way and goes on ends with other weights, optimizer state or buffers, such as
        running means, to the bit, than one that goes through."""
        self.losses("1f1b", checkpoints="through")
        self.losses("1f1b", steps=STEPS // 2, checkpoints="parts")
        self.losses("1f1b", "--resume", checkpoints="parts")
        through, parts = self.sections_stored("through"), self.sections_stored("parts")
        return parts != through or not any(b"running_mean" in bytes_ for bytes_ in through.values())


def first_sentence(text):
    for line in text.split("\n"):
        if line.startswith("error: "):
            return line[len("error: "):]
    return text.strip().split("\n")[-1]


def row_of(runner, name, how, layouts):
    """(sections, outcome by layout, words)"""
    torch.manual_seed(1)
    model = MODELS[name]()
    model.train()
    try:
        runner.save(model, how)
    except Exception as error:  # what torch.jit does not take is no archive
        return None, {}, f"torch.jit.{how} refuses it: {str(error).strip().splitlines()[0][:80]}"
    profiled = runner.profile()
    if profiled.returncode != 0:
        return None, {"exit": profiled.returncode}, first_sentence(profiled.stderr)
    with open(runner.path("profile.json"), encoding="utf-8") as file:
        ends = [section["name"] for section in json.load(file)["sections"]]
        sections = len(ends)
    # A trace holds constants in the precision that it was made in, so that a loop over the module differs from it.
    def whole():  # anew; a deep copy of a loaded trace has no leaves to train
        return torch.jit.load(runner.path("model.pt")) if how == "trace" else copy.deepcopy(model)
    names = argument_names(model)
    draws = ends if name in RANDOM and how == "script" else None
    expected = {r: plain_loop(whole(), names, r, draws)
                for r in {replicas_of(layout) for layout in layouts}}
    outcome, words, first = {}, "", None
    for line in profiled.stdout.split("\n"):
        if "the archive is one section" in line:
            words = line.strip(" -")
    for layout in layouts:
        losses, refusal = runner.losses(layout)
        if losses is None:
            outcome[layout] = "refused"
            words = words or first_sentence(refusal)
            continue
        if name in RANDOM and not draws:  # into a trace the plain loop cannot reach
            first = first or losses
            reference = first
        else:
            reference = expected[replicas_of(layout)]
        outcome[layout] = max(abs(a - b) for a, b in zip(losses, reference))
    if name in RESUMED:
        outcome["resumed"] = 1.0 if runner.resumes_wrongly() else 0.0
    return sections, outcome, words


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("penstock")
    parser.add_argument("--table")
    parser.add_argument("--only", default=",".join(IN_CI))
    parser.add_argument("--how", default="script")
    parser.add_argument("--layouts", default="1f1b")
    parser.add_argument("--transport", default="loopback", help="gloo: every rank is a process")
    options = parser.parse_args()
    names = list(MODELS) if options.only == "all" else options.only.split(",")
    rows, failed = [], 0
    for name in names:
        for how in options.how.split(","):
            with tempfile.TemporaryDirectory() as folder:
                runner = Runner(os.path.abspath(options.penstock), folder, options.transport)
                sections, outcome, words = row_of(runner, name, how, options.layouts.split(","))
            numbers = [v for k, v in outcome.items() if k != "exit" and v != "refused"]
            wrong = any(not v <= 1e-10 for v in numbers) or outcome.get("exit", 2) != 2
            failed += wrong
            shown = ", ".join(f"{k} {v:.0e}" if isinstance(v, float) else f"{k} {v}" for k, v in outcome.items())
            rows.append((name, how, "" if sections is None else str(sections), shown, words))
            print(" | ".join(rows[-1]) + (" WRONG" if wrong else ""), flush=True)
    if options.table:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write("".join("| " + " | ".join(row) + " |\n" for row in rows))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
