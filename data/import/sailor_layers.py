"""Sailor's published layer times -> data/profiles/{opt-350m,gpt-neo-2.7b,llama-3-8b}.json.

usage: sailor_layers.py EXTRACT.json OUT_FOLDER

EXTRACT.json holds the tables of eth-easl/sailor, sailor/Planner/simulations/profiles_tmp.json:
{"profiles": [{"model": "OPT-350", "gpu": "GH-96", "tp": 1, "micro_batch_size": 1, "layers":
[[forward s, backward s, update s], ..]}, ..]}; layer 0 is the embedding.

Only times are published. Memory is worked out from shapes here; what is assumed is said in the
sources of each file and in data/README.md.
"""

import dataclasses
import os

from penstock_files import Decimal, arguments, padded, read_json, write

DEVICES = {"GH-96": "gh200-96gb", "A100-40": "a100-40gb", "A100-80": "a100-80gb",
           "V100-16": "v100-16gb"}
SEQUENCE, POSITIONS = 2048, 2048
E = 4  # bytes per element: fp32


@dataclasses.dataclass
class Model:
    published: str       # name in the source
    name: str
    file: str
    layers: int
    hidden: int
    heads: int
    split_stash: float   # activations of a layer that tensor parallelism divides, in h per token
    split_operands: float  # the same of the operands of weight gradients
    ends: list           # section types after the layers
    shapes: str          # in words, for the provenance

    def vocabulary(self, t):
        """Rows of the word embedding held by one rank."""
        return (padded(128256, t) if self.published == "LLAMA-3-8" else 50688) // t

    def embedding(self, t):
        positions = 0 if self.published == "LLAMA-3-8" else POSITIONS
        return (self.vocabulary(t) + positions) * self.hidden

    def matrices(self):
        """Parameters of the matrix products of one layer."""
        h = self.hidden
        if self.published == "LLAMA-3-8":
            return 2 * h * h + 2 * h * (8 * 128) + 3 * h * 14336  # 8 KV heads of 128, gated MLP
        return 12 * h * h

    def layer(self, t):
        h = self.hidden
        if self.published == "LLAMA-3-8":
            return self.matrices() // t + 2 * h
        return (self.matrices() + 7 * h) // t + 6 * h  # biases and two norms

    def head(self, t):
        norm = 2 * self.hidden if "norm" not in self.ends else 0
        return self.vocabulary(t) * self.hidden + norm

    def norm(self, t):
        del t
        return self.hidden if self.published == "LLAMA-3-8" else 2 * self.hidden


MODELS = [
    Model("OPT-350", "OPT-350M", "opt-350m.json", 24, 1024, 16, 8, 12, ["head"],
          "24 layers, h 1024, 16 heads, MLP 4h with ReLU, vocabulary padded to 50688, 2048 "
          "positions. Embedding and head are h wide and not tied: with a width of 1024 the published "
          "head backward runs at 90 % of the peak of a V100 and 73 % of that of an A100 (TF32), as "
          "such products do (Hugging Face's OPT-350M has 512 with projections, and ties)"),
    Model("GPT-Neo-2.7", "GPT-Neo-2.7B", "gpt-neo-2.7b.json", 32, 2560, 20, 12, 12, ["norm"],
          "32 layers, h 2560, 20 heads, MLP 4h with GELU, vocabulary padded to 50688, 2048 "
          "positions. The profiled model ends in a norm: it has no output layer"),
    Model("LLAMA-3-8", "Llama-3-8B", "llama-3-8b.json", 32, 4096, 32, 18, 14.5, ["norm", "head"],
          "32 layers, h 4096, 32 heads, 8 KV heads, gated MLP of 14336, vocabulary 128256 padded to "
          "a multiple of 128 T, embedding and head not tied"),
]


def milliseconds(seconds):
    """Published seconds; sums such as 0.008235000000000001 lose their float residue."""
    return (seconds * 1000).quantize(Decimal("0.000001"))


def memory(model, kind, t, b):
    """stash, weight stash, working peak in bytes."""
    h, a, s = model.hidden, model.heads, SEQUENCE
    tokens, vocabulary = b * s, model.vocabulary(t)
    if kind == "layer":
        scores = a * s * s * b // t
        stash = E * (int(tokens * h * (4 + model.split_stash / t)) + scores)
        operands = E * int(tokens * h * (4 + model.split_operands / t))
        return stash, min(stash, operands), 2 * E * scores
    if kind == "embedding":
        return (tokens * 8, tokens * (E * h + 8), E * (2 * tokens * h + vocabulary * h))
    if kind == "norm":
        return 2 * E * tokens * h, 2 * E * tokens * h, 2 * E * tokens * h
    logits = tokens * vocabulary
    return (E * (2 * logits + tokens * h), E * (logits + tokens * h),
            E * (logits + vocabulary * h))


def share(model, kind):
    if kind == "embedding":
        return 1
    if kind != "layer":
        return 0.5
    weight = 2 * model.matrices()
    return round(weight / (2 * weight + 8 * SEQUENCE * model.hidden), 4)


def row(model, kind, entry, times):
    t, b = entry["tp"], entry["micro_batch_size"]
    stash, weight_stash, working_peak = memory(model, kind, t, b)
    return {
        "device": DEVICES[entry["gpu"]], "tensor_degree": t, "micro_batch_size": b,
        "sequence_length": SEQUENCE, "recompute": "none",
        "forward_ms": milliseconds(times[0]), "fused_backward_ms": milliseconds(times[1]),
        "weight_gradient_share": share(model, kind),
        "stash_bytes": stash, "weight_stash_bytes": weight_stash,
        "working_peak_bytes": working_peak, "boundary_bytes": E * b * SEQUENCE * model.hidden,
        "time_source": "run", "split_source": "operations", "memory_source": "shapes"}


def sources(model):
    run = ("seconds per layer, published with Sailor (SOSP'25): eth-easl/sailor, "
           "sailor/Planner/simulations/profiles_tmp.json; sequence 2048, fp32, DeepSpeed pipeline "
           "engine with Megatron tensor parallelism, no recompute; repetitions and spread not "
           "published (count 1); kept as published, also where they fall with the micro-batch "
           "size. `layer` is the published second transformer layer, which the source repeats for "
           "all further ones (the first, timed apart, differs by up to 25 % at small micro-batches); "
           "the backward of the embedding, 0 to 4 us, leaves out the gradient of its weights")
    per_layer = (f"e b s (h (4 + {model.split_stash:g}/T) + a s/T), e = 4: attention matrix kept, "
                 "no dropout")
    shapes = ("memory is not published; from shapes. stash: layer " + per_layer + "; head "
              "e b s (2V/T + h); norm 2 e b s h; embedding token ids. weight_stash: layer e b s h "
              f"(4 + {model.split_operands:g}/T), inputs and output gradients of its matrix products, "
              "not above the stash; head e b s (V/T + h). working_peak: layer two attention matrices "
              "2 e b a s^2/T; head and embedding a dense weight gradient beside the gradient of "
              "their output. boundary e b s h on every rank of the tensor-parallel group")
    split = ("W / (I + W) from operations: layer P / (2P + 4 s h), P parameters of the matrix "
             "products; head and norm 0.5; embedding 1, its backward has no input gradient")
    training = ("fp32 AdamW: 4 bytes parameter, 4 gradient, 8 moments. The published update_s is "
                "the step of the whole small model that was profiled, of unstated size, so the step "
                "is left to the memory bandwidth")
    return [
        {"id": "run", "origin": "measured", "text": run, "licence": "MIT"},
        {"id": "shapes", "origin": "assumed", "text": shapes},
        {"id": "operations", "origin": "assumed", "text": split},
        {"id": "parameters", "origin": "derived", "text": "from shapes: " + model.shapes},
        {"id": "training", "origin": "assumed", "text": training},
    ]


def profile(model, entries):
    last = len(model.ends)
    index = {"embedding": 0, "layer": 2}
    index |= {kind: i - last for i, kind in enumerate(model.ends)}
    for entry in entries:
        if len(entry["layers"]) != 1 + model.layers + last:
            raise SystemExit(f"{model.published}: {len(entry['layers'])} layers")
    degrees = sorted({entry["tp"] for entry in entries})
    entries = sorted(entries, key=lambda e: (DEVICES[e["gpu"]], e["tp"], e["micro_batch_size"]))
    ends = [{"name": kind, "type": kind} for kind in model.ends]
    return {
        "format": "penstock.profile/1",
        "name": model.name,
        "sources": sources(model),
        "training": {"bytes_per_parameter": 4, "bytes_per_gradient": 4,
                     "optimizer_bytes_per_parameter": 8, "source": "training"},
        "section_types": [
            {"name": kind,
             "parameters": [{"tensor_degree": t, "count": getattr(model, kind)(t)} for t in degrees],
             "parameter_source": "parameters",
             "measurements": [row(model, kind, e, e["layers"][i]) for e in entries]}
            for kind, i in index.items()],
        "sections": [{"name": "embedding", "type": "embedding"}]
                    + [{"name": f"layer.{i}", "type": "layer"} for i in range(model.layers)] + ends,
    }


def main():
    source, folder = arguments("EXTRACT.json OUT_FOLDER", 2)
    published = read_json(source)["profiles"]
    for model in MODELS:
        entries = [e for e in published
                   if e["model"] == model.published and e["gpu"] in DEVICES]
        write(os.path.join(folder, model.file), profile(model, entries))


if __name__ == "__main__":
    main()
