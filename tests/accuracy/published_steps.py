#!/usr/bin/env python3
"""Step times that others published, predicted by `penstock predict` from sizes and datasheets.

usage: published_steps.py PENSTOCK [--rows] [--only TEXT] [--gathers] [--held-out | --contradicted | --float8
                          | --pairs]

The runs are in published_steps.json, which names their sources; 39 of the 745 are in the fit of
data/efficiency/cases.json, 166 more in its intervals.
Prints by set: mean and median error, how many lie in their interval, how many are said not to fit, though all of them
ran. --held-out: those that were predicted before they were looked at, and are in no fit. --contradicted: five of them
whose own source says that they took less. --float8: those in 8 bits, and at the end what the interval of Hopper in
8 bits is counted from: these, those in 8 bits that were held out, and those of float8_and_experts.py that are not among
these, each left out there. --pairs: a model with an encoder and a decoder, as a batch of pairs. --rows: every run.
--only: the sets with TEXT in their names. --gathers: of MPT's runs of up to 4,096 tokens, how the share of the step
that the prediction lacks follows, by least squares, the share that one gather of all layers would take (2 bytes a
weight, 361 GB/s), which its trainer does not prefetch. MPT's trainer shards everything (FSDP), MaxText too (as ZeRO-3,
without PyTorch's copies, over the GPUs that `fsdp` says); NeMo and InternEvo shard the optimizer's state. InternEvo's
nodes have 50 GB/s, said by a cluster file.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import float8_and_experts

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "data", "models")
NODE_GB_PER_S = {"InternEvo": 50.0}


def without_comments(path):
    with open(path, encoding="utf-8") as file:
        return json.loads("\n".join(line for line in file if not line.lstrip().startswith("//")))


def mpt(shape):
    layers, width, heads = (int(number) for number in shape.split("x"))
    return {"architectures": ["MPTForCausalLM"], "model_type": "mpt", "n_layers": layers, "d_model": width,
            "n_heads": heads, "expansion_ratio": 4, "max_seq_len": 65536, "vocab_size": 50368, "no_bias": False,
            "learned_pos_emb": True, "attn_config": {"alibi": False, "attn_type": "multihead_attention"}}


def config(name, models):
    kind, _, shape = name.partition(":")
    if kind == "mpt":
        return mpt(shape)
    if name in models:
        return models[name]
    model = without_comments(os.path.join(MODELS, kind + ".json"))
    return model | {"num_hidden_layers": int(shape)} if shape else model


def layout(name, run):
    words = [f"{key}={run[field]}" for key, field in
             (("TP", "tp"), ("PP", "pp"), ("VP", "vp"), ("CP", "cp")) if field in run]
    replicas = run["gpus"] // (run.get("tp", 1) * run.get("pp", 1) * run.get("cp", 1))
    words.append(f"DP={replicas}")
    if "decoder" in run:
        return " ".join(words)
    if name.startswith("llm-foundry") or run.get("sharding") == "fsdp":
        words[-1] = f"FSDP={replicas}"
    elif name.startswith("MaxText"):
        words.append(f"sharding=zero3:{run['fsdp']}")
    elif run.get("zero1", True):
        words.append("zero1=on")
    words += [f"mbs={run['mbs']}", f"gbs={run['gbs']}", f"seq={run['seq']}"]
    return " ".join(words + ([f"recompute={run['recompute']}"] if "recompute" in run else []))


class Predicting:
    def __init__(self, program, folder, models):
        self.program, self.folder, self.models = program, folder, models

    def file_of(self, name):
        path = os.path.join(self.folder, name.replace(":", "-") + ".json")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config(name, self.models), file)
        return path

    def cluster(self, run, gb_per_s):
        """The assumed cluster with the network that the source names."""
        path = os.path.join(self.folder, f"{run['device']}-{run['gpus']}-{gb_per_s}.json")
        if os.path.exists(path):
            return path
        subprocess.run([self.program, "estimate", self.file_of(run["model"]), "--device", run["device"], "--gpus",
                        str(run["gpus"]), "--sequence-length", "512", "--cluster-out", path], check=True,
                       capture_output=True)
        spec = without_comments(path)
        for level in spec["levels"][1:]:
            level["bandwidth_bytes_per_s"] = 0.93e9 * gb_per_s / 8
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        return path

    def batch(self, run):
        """Pairs of one shape, the same for every replica."""
        path = os.path.join(self.folder, f"{run['model']}-{run['gpus']}-batch.json")
        replicas = run["gpus"] // run.get("tp", 1)
        shape = {"samples": run["mbs"], "tokens": run["seq"], "decoder_tokens": run["decoder"]}
        taken = [{"count": run["gbs"] // replicas // run["mbs"], "shape": 0}]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "penstock.batch/1", "shapes": [shape],
                       "replicas": [{"replicas": replicas, "micro_batches": taken}]}, file)
        return path

    @staticmethod
    def network_of(name):
        return next((rate for trainer, rate in NODE_GB_PER_S.items() if name.startswith(trainer)), None)

    def write_files(self, name, runs):
        """What predictions, two at a time, then only read."""
        for run in runs:
            self.file_of(run["model"])
            if self.network_of(name):
                self.cluster(run, self.network_of(name))

    def __call__(self, name, run):
        words = [self.program, "predict", self.file_of(run["model"]), "--device", run["device"], "--layout",
                 layout(name, run), "--json"]
        for option in ("gradients", "attention", "kernels", "sequence-parallelism", "for", "precision", "loss",
                       "optimizer-bytes"):
            if option in run:
                words += [f"--{option}", str(run[option])]
        if self.network_of(name):
            words += ["--cluster", self.cluster(run, self.network_of(name))]
        if "decoder" in run:
            words += ["--batch", self.batch(run)]
        answer = subprocess.run(words, capture_output=True, text=True, check=False)
        if not answer.stdout.startswith("{"):
            sys.exit(f"{' '.join(words)}\n{answer.stderr}")
        answer = json.loads(answer.stdout)
        prediction = answer["prediction"]
        inside = prediction["step_time_low_ns"] <= run["seconds"] * 1e9 <= prediction["step_time_high_ns"]
        return prediction["step_time_ns"] * 1e-9 / run["seconds"] - 1.0, inside, answer["fits"]


def gather_share(run):
    """Of a step, what one gather of all layers in every micro-batch would take."""
    layers, width, _ = (int(number) for number in run["model"].removeprefix("mpt:").split("x"))
    others = (run["gpus"] - 1) / run["gpus"]
    micro_batches = run["gbs"] / run["gpus"] / run["mbs"]
    return layers * 2 * 12 * width**2 * others / 361e9 * micro_batches / run["seconds"]


def print_gathers(runs):
    runs = [(gather_share(run), -error) for run, (error, _, _) in runs
            if run["model"].startswith("mpt:") and run["device"] == "h100-sxm" and run["seq"] <= 4096]
    if len(runs) < 2:
        print("too few runs of MPT on H100 to draw a line through")
        return
    x, y = (statistics.mean(column) for column in zip(*runs))
    slope = sum((a - x) * (b - y) for a, b in runs) / sum((a - x) ** 2 for a, _ in runs)
    print(f"{len(runs)} runs of MPT on H100, up to 4,096 tokens: missing {100 * (y - slope * x):.1f} % "
          f"+ {slope:.2f} times the share of one gather")


def quantile(sets, share):
    """Of values by set, sets alike; an entry stands in the middle of its weight (as in cli/reports)."""
    weighted = sorted((value, 1 / len(values) / len(sets)) for values in sets for value in values)
    place = weighted[0][1] / 2
    for (before, weight), (value, its) in zip(weighted, weighted[1:]):
        following = place + (weight + its) / 2
        if share <= following:
            return before + max(share - place, 0.0) / (following - place) * (value - before)
        place = following
    return weighted[-1][0]


def more_than_predicted(results):
    return [1 / (1 + error) - 1 for error, _, _ in results]


def left_out_steps(program, published):
    """Measured / predicted - 1 of Hopper's runs that the share was chosen on, each by the share that the others have;
    those that are among the published ones are counted there."""
    known = {(run["model"], run["gpus"], run["seconds"]) for run in published}
    return [run["seconds"] / run["left_out"] - 1 for run in float8_and_experts.float8_runs(program, "hopper")
            if (run["model"], float8_and_experts.ranks_of(run["layout"]), run["seconds"]) not in known]


def float8_band(program, results_by_set):
    """How many steps in 8 bits on Hopper, in how many sets, and what nine of ten took less and more than predicted, one
    in twenty more to come beyond either side (split conformal)."""
    held = [more_than_predicted(results) for _, _, results in predicted_sets(program, "8 bits, 8 to 512", "held_out")]
    published = [run for runs, _ in results_by_set for run in runs]
    sets = [*(more_than_predicted(results) for _, results in results_by_set), *held, left_out_steps(program, published)]
    count = sum(map(len, sets))
    share = 0.95 * (count + 1) / count
    return count, len(sets), -quantile(sets, 1 - share), quantile(sets, share)


def predicted_sets(program, only="", kind="sets"):
    """Name, runs and (error, inside, fits) of each."""
    published = without_comments(os.path.join(HERE, "published_steps.json"))
    with tempfile.TemporaryDirectory() as folder:
        predict = Predicting(program, folder, published["models"])
        for name, runs in published[kind].items():
            if only in name:
                predict.write_files(name, runs)
                with ThreadPoolExecutor(2) as two:
                    yield name, runs, list(two.map(lambda run, name=name: predict(name, run), runs))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    every, by_run, by_set = [], [], []  # the last: (runs, results) of each
    kind = next((kind for kind in ("held_out", "contradicted", "float8", "pairs")
                 if "--" + kind.replace("_", "-") in sys.argv), "sets")
    for name, runs, results in predicted_sets(sys.argv[1], only, kind):
        every += results
        by_run += zip(runs, results)
        by_set.append((runs, results))
        errors = [error for error, _, _ in results]
        print(f"| {name} | {len(runs)} | {100 * statistics.mean(map(abs, errors)):.1f} % "
              f"| {100 * statistics.median(errors):+.1f} % | {sum(inside for _, inside, _ in results)} "
              f"| {sum(not fits for _, _, fits in results)} |", flush=True)
        if "--rows" in sys.argv:
            for run, (error, inside, fits) in zip(runs, results):
                print(f"    {run['model']} {run['gpus']} {layout(name, run)}: {run['seconds']} s "
                      f"{100 * error:+.1f} %{'' if inside else ' outside'}{'' if fits else ' does not fit'}")
    if "--gathers" in sys.argv:
        print_gathers(by_run)
    if kind == "float8":
        count, sets, less, more = float8_band(sys.argv[1], by_set)
        print(f"{count} steps in {sets} sets: nine of ten took from {100 * less:.1f} % less to {100 * more:.1f} % more "
              "time than predicted")
    inside = sum(inside for _, inside, _ in every)
    print(f"{inside} of {len(every)} inside, {100 * inside / len(every):.0f} %")


if __name__ == "__main__":
    main()
