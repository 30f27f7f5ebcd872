"""DynaPipe's published profile of GPT-6.7B on A100-40GB -> data/profiles/gpt-6.7b.a100-40gb*.json.

usage: dynapipe_gpt.py EXTRACT.json OUT.json SHORTEST

SHORTEST is the least sequence length kept: 512 for gpt-6.7b.a100-40gb.json; 16, the least published,
for gpt-6.7b.a100-40gb.all-lengths.json, which also lists what is taken to have run out of memory.

EXTRACT.json holds the tables of `gpt_6.7b_cm.pkl` (chenyu-jiang/Megatron-LM, branch dynapipe,
cost_models/): {"models": [{"tp", "recompute", "timing": {"encoder_forward": [[sequence length,
micro-batch size, ms], ..], "encoder_backward", "postprocess_forward", "postprocess_backward"},
"stored": {"encoder": [[.., .., MB], ..]}, "peak": {"encoder": ..}}, ..]}, MB being 10^6 bytes.

What is measured, derived and assumed is said in SOURCES below and in data/README.md.
"""

from penstock_files import Decimal, arguments, padded, read_json, to_bytes, write

DEVICE = "a100-40gb"
HIDDEN, HEADS, LAYERS, VOCABULARY = 4096, 32, 32, 50257
LEAST_PUBLISHED, LONGEST = 16, 8192  # sequence lengths
MOST_SAMPLES = 2048  # micro-batch sizes tried: powers of two up to here
MEMORY_BYTES_PER_S = 1555e9 * 0.8  # what a memory-bound kernel reaches
LAUNCH_S = 10e-6
LICENCE = "that of the repository, a fork of NVIDIA/Megatron-LM (BSD-3-Clause)"

SOURCES = [
    ("run", "measured",
     "GPT-6.7B profile published with DynaPipe (EuroSys'24): chenyu-jiang/Megatron-LM, branch "
     "dynapipe, cost_models/gpt_6.7b_cm.pkl, taken on p4d.24xlarge (A100-SXM4-40GB), fp16; "
     "milliseconds as published; number of repetitions and spread not published (count 1); "
     "{lengths}"),
    ("run-less-recompute", "derived",
     "the same profile with recomputation, whose backward contains the recompute. full: "
     "recompute_time is the measured forward of the row. selective: recompute_time is "
     "backward(selective) - backward(none) of the same shape, not below 0 (no such row: the "
     "nearest measured shape's ratio to the forward). fused_backward is the published backward "
     "less recompute_time"),
    ("run-memory", "derived",
     "the same profile. stash: published `stored`, untouched (it holds a share of what the "
     "profiled model of one to three layers keeps beside its layers, see data/README.md). "
     "working_peak: published `peak` less n times `stored`, where n, the number of layers that "
     "were profiled, is worked out per row as the one of 3, 2, 1 that makes the rest proportional "
     "to the micro-batch size (it is, within {tolerance}; {dropped} rows dropped). weight_stash "
     "(assumed from shapes): inputs and output gradients of the four matrix products, "
     "b s h (8 + 24/T) bytes, not above the stash without recompute. boundary (assumed from "
     "shapes): b s h 2 bytes, the whole tensor on every rank of the tensor-parallel group"),
    ("flops", "assumed",
     "W / (I + W) from operations: layer 24h / (48h + 8s) (I 24 b s h^2 + 8 b s^2 h, "
     "W 24 b s h^2); head 0.5; embedding 1, its backward has no input gradient"),
    ("head-shapes", "assumed",
     "from shapes, not published: stash b s (4h + 4V/T) bytes (inputs of norm and output layer, "
     "fp32 softmax), weight_stash b s (2h + 2V/T) bytes (input and fp16 gradient of the logits), "
     "working_peak the larger of 6 b s V/T (fp16 logits, fp32 copy) and 2 b s V/T + 2 V h/T "
     "(gradient of the logits, dense weight gradient), boundary b s h 2 bytes, which nobody "
     "receives"),
    ("embedding-shapes", "assumed",
     "not published. Time: memory-bound at 80 % of 1555 GB/s + 10 us; forward passes three times "
     "over b s h 2 bytes, backward as well and four times over the dense gradient of V h/T * 2 "
     "bytes (cleared, written, accumulated). Collectives of tensor parallelism not included. Bytes "
     "from shapes: stash b s (h + 8) (dropout mask, token ids), weight_stash b s (2h + 8), "
     "working_peak 4 b s h + 2 V h/T"),
    ("shapes", "derived",
     "parameters from shapes: 32 layers, h 4096, 32 heads, vocabulary 50257 padded to a multiple "
     "of 128 T (50304, 50432, 50688, 51200 at T 1, 2, 4, 8), norms and row-parallel biases whole "
     "on every rank. Agrees with the published fp16 bytes: layer within 0.01 %, embedding within "
     "0.001 % (vocabulary plus the sequence length as positions). Positions here: 8192, the longest "
     "sequence in this file. The output layer uses the word embedding (tied)"),
    ("training", "assumed",
     "Megatron fp16 without fp32 gradient accumulation: 2 bytes parameter, 2 gradient, 12 "
     "optimizer (fp32 copy, two Adam moments)"),
]


def table(rows):
    return {(s, b): value for s, b, value in rows}


def tolerance_of(s):
    """Of small tensors the published peak is rounded up to the allocator's blocks."""
    return Decimal("0.03") if s >= 512 else Decimal("0.06")


def layers_profiled(peak, stored, b, reference):
    """(n, bytes beyond n layers' stash): the n that brings it closest to b * reference.

    Without a reference (b = 1) it is the largest n that leaves something.
    """
    rests = [(n, peak - n * stored) for n in (3, 2, 1)]
    if reference is None:
        return next(((n, rest) for n, rest in rests if rest > 0), None)
    return min(rests, key=lambda entry: abs(entry[1] / b - reference))


def working_peaks(model, shortest, dropped):
    """Bytes beyond the stash per shape; rows that break the pattern go to `dropped`."""
    stored, peak = table(model["stored"]["encoder"]), table(model["peak"]["encoder"])
    result = {}
    for s in sorted({s for s, _ in stored if shortest <= s <= LONGEST}):
        reference = None
        for b in sorted(b for length, b in stored if length == s):
            found = layers_profiled(peak[s, b], stored[s, b], b, reference)
            if found is None or (reference and abs(found[1] / b / reference - 1) > tolerance_of(s)):
                dropped.append((model["tp"], model["recompute"], s, b))
                continue
            reference = reference or found[1] / b
            result[s, b] = found[1]
    return result


def nearest(shape, shapes):
    """The shape with the closest number of tokens, then the closest length."""
    s, b = shape
    return min(shapes, key=lambda o: (abs(o[0] * o[1] - s * b), abs(o[0] - s), o))


def recompute_times(model, plain):
    """Per shape, from the published forward and backward of this mode and of mode none."""
    forward = table(model["timing"]["encoder_forward"])
    backward = table(model["timing"]["encoder_backward"])
    if model["recompute"] == "none":
        return {shape: Decimal(0) for shape in forward}
    if model["recompute"] == "full":
        return dict(forward)
    both = {shape: max(Decimal(0), backward[shape] - plain[shape]) for shape in plain
            if shape in forward}
    result = {}
    for shape in forward:
        like = shape if shape in both else nearest(shape, both)
        time = both[like] if like == shape else both[like] / forward[like] * forward[shape]
        result[shape] = time.quantize(Decimal("0.001"))
    return result


def key(model, s, b):
    return {"device": DEVICE, "tensor_degree": model["tp"], "micro_batch_size": b,
            "sequence_length": s, "recompute": model["recompute"]}


def layer_rows(model, plain, shortest, dropped):
    t, mode = model["tp"], model["recompute"]
    forward = table(model["timing"]["encoder_forward"])
    backward = table(model["timing"]["encoder_backward"])
    stored = table(model["stored"]["encoder"])
    plain_stash = table(plain["stored"]["encoder"])
    recompute = recompute_times(model, table(plain["timing"]["encoder_backward"]))
    peaks = working_peaks(model, shortest, dropped)
    rows = []
    for s, b in sorted(peaks):
        weight_stash = b * s * HIDDEN * (8 + 24 // t)
        if (s, b) in plain_stash:
            weight_stash = min(weight_stash, to_bytes(plain_stash[s, b]))
        row = key(model, s, b)
        row["forward_ms"] = forward[s, b]
        row["fused_backward_ms"] = backward[s, b] - recompute[s, b]
        if mode != "none":
            row["recompute_time_ms"] = recompute[s, b]
        row["weight_gradient_share"] = round(24 * HIDDEN / (48 * HIDDEN + 8 * s), 4)
        row["stash_bytes"] = to_bytes(stored[s, b])
        row["weight_stash_bytes"] = weight_stash
        row["working_peak_bytes"] = to_bytes(peaks[s, b])
        row["boundary_bytes"] = b * s * HIDDEN * 2
        row["time_source"] = "run" if mode == "none" else "run-less-recompute"
        row["split_source"], row["memory_source"] = "flops", "run-memory"
        rows.append(row)
    return rows


def head_row(model, s, b):
    t, tokens = model["tp"], s * b
    vocabulary = padded(VOCABULARY, t) // t
    logits = tokens * vocabulary
    row = key(model, s, b)
    row["forward_ms"] = table(model["timing"]["postprocess_forward"])[s, b]
    row["fused_backward_ms"] = table(model["timing"]["postprocess_backward"])[s, b]
    row["weight_gradient_share"] = 0.5
    row["stash_bytes"] = tokens * 4 * HIDDEN + 4 * logits
    row["weight_stash_bytes"] = tokens * 2 * HIDDEN + 2 * logits
    row["working_peak_bytes"] = max(6 * logits, 2 * logits + 2 * vocabulary * HIDDEN)
    row["boundary_bytes"] = tokens * HIDDEN * 2
    row["time_source"], row["split_source"], row["memory_source"] = "run", "flops", "head-shapes"
    return row


def memory_bound_ms(number_of_bytes):
    seconds = number_of_bytes / MEMORY_BYTES_PER_S + LAUNCH_S
    return Decimal(round(seconds * 1e6)) / 1000


def embedding_row(model, s, b):
    t, tokens = model["tp"], s * b
    gradient = padded(VOCABULARY, t) // t * HIDDEN * 2
    output = tokens * HIDDEN * 2
    row = key(model, s, b)
    row["forward_ms"] = memory_bound_ms(3 * output)
    row["fused_backward_ms"] = memory_bound_ms(3 * output + 4 * gradient)
    row["weight_gradient_share"] = 1
    row["stash_bytes"] = tokens * (HIDDEN + 8)
    row["weight_stash_bytes"] = tokens * (2 * HIDDEN + 8)
    row["working_peak_bytes"] = 2 * output + gradient
    row["boundary_bytes"] = output
    row["time_source"] = row["memory_source"] = "embedding-shapes"
    row["split_source"] = "flops"
    return row


def per_degree(degrees, count):
    return [{"tensor_degree": t, "count": count(t)} for t in degrees]


def out_of_memory(models, shortest):
    """The size behind the largest published one of each length, where it would have been tried."""
    keys = []
    for model in models:
        sizes = {}
        for s, b in table(model["timing"]["encoder_forward"]):
            sizes[s] = max(b, sizes.get(s, 0))
        for s in sorted(s for s in sizes if shortest <= s <= LONGEST and sizes[s] < MOST_SAMPLES):
            keys.append(key(model, s, 2 * sizes[s]))
    return keys


def lengths_text(shortest):
    if shortest > LEAST_PUBLISHED:
        return (f"sequence lengths {shortest} to {LONGEST} kept ({LEAST_PUBLISHED} to 256 are "
                "published too)")
    return (f"all published sequence lengths, {shortest} to {LONGEST}; that the size behind the "
            "largest of a length ran out of memory is inferred: powers of two were tried up to "
            f"{MOST_SAMPLES}, and where they end grows with the tensor degree as memory does")


def profile(extract, shortest):
    order = {"none": 0, "selective": 1, "full": 2}
    models = sorted(extract["models"], key=lambda m: (m["tp"], order[m["recompute"]]))
    plain = {m["tp"]: m for m in models if m["recompute"] == "none"}
    degrees = sorted(plain)
    h, dropped, layers = HIDDEN, [], []
    for model in models:
        layers += layer_rows(model, plain[model["tp"]], shortest, dropped)
    by_key = {(m["tp"], m["recompute"]): m for m in models}
    ends = [(by_key[r["tensor_degree"], r["recompute"]], r["sequence_length"],
             r["micro_batch_size"]) for r in layers]

    def word_embedding(t):
        return padded(VOCABULARY, t) // t * h

    beyond = out_of_memory(models, shortest) if shortest == LEAST_PUBLISHED else []

    def section_type(name, count, rows):
        entry = {"name": name, "parameters": per_degree(degrees, count),
                 "parameter_source": "shapes", "measurements": rows}
        return entry | ({"out_of_memory": beyond} if beyond else {})

    def source(name, origin, text):
        said = text.format(dropped=len(dropped), lengths=lengths_text(shortest),
                           tolerance="3 %" if shortest >= 512 else "3 %, below 512 tokens 6 %")
        entry = {"id": name, "origin": origin, "text": said}
        return entry | ({"licence": LICENCE} if name.startswith("run") else {})

    return {
        "format": "penstock.profile/1",
        "name": "GPT-6.7B",
        "sources": [source(*entry) for entry in SOURCES],
        "training": {"bytes_per_parameter": 2, "bytes_per_gradient": 2,
                     "optimizer_bytes_per_parameter": 12, "source": "training"},
        "section_types": [
            section_type("embedding", lambda t: word_embedding(t) + LONGEST * h,
                         [embedding_row(*end) for end in ends]),
            # split: matrices 12 h^2, biases of QKV and first MLP 7 h; whole: norms 4 h, biases 2 h
            section_type("layer", lambda t: (12 * h * h + 7 * h) // t + 6 * h, layers),
            section_type("head", lambda t: word_embedding(t) + 2 * h,
                         [head_row(*end) for end in ends]),
        ],
        "sections": [{"name": "embedding", "type": "embedding"}]
                    + [{"name": f"layer.{i}", "type": "layer"} for i in range(LAYERS)]
                    + [{"name": "head", "type": "head"}],
        "tied_weights": [{"name": "word_embedding", "sections": ["embedding", "head"],
                          "parameters": per_degree(degrees, word_embedding)}],
    }


def main():
    source, out, shortest = arguments("EXTRACT.json OUT.json SHORTEST", 3)
    write(out, profile(read_json(source), int(shortest)))


if __name__ == "__main__":
    main()
