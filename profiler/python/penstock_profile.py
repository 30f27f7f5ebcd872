#!/usr/bin/env python3
"""Writes penstock.profile/1, what `penstock plan` reads, of any nn.Module that is a list of sections.

    from penstock_profile import profile
    profile("my model", sections, make_input, path="profile.json", micro_batch_sizes=(1, 2, 4))

sections: (name, module) pairs or (name, module, type) triples along the model; sections of one type
cost the same, and only the first one is measured. Each maps one tensor to one tensor; the last one
may return anything whose sum is a loss. make_input(b) makes the model's input for b samples. Needs
the user's own PyTorch and nothing else. On a GPU times are those of CUDA events and memory is that of
torch.cuda; on a CPU, perf_counter and what autograd saves.
"""

import json
import platform
import statistics
import time

import torch


class Clock:
    """Times one call, on the device's own clock where it has one."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def __call__(self, call):
        if not self.cuda:
            begin = time.perf_counter_ns()
            result = call()
            return result, time.perf_counter_ns() - begin
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = call()
        end.record()
        end.synchronize()
        return result, round(begin.elapsed_time(end) * 1e6)


def size_of(tensor):
    return tensor.numel() * tensor.element_size()


def forward(module, x, needs_gradient):
    """From a leaf of its own, as at the boundary of a stage."""
    leaf = x.detach()
    if needs_gradient:
        leaf.requires_grad_(True)
    return leaf, module(leaf)


def times(module, x, first, clock, repeats, warm_up):
    """Nanoseconds of F, B and I. The engine skips what is not asked for, so I costs only I; W asked
    for alone would make the input gradients inside the section once more, so it is B less I."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    samples = {"forward": [], "fused_backward": [], "input_gradient": []}
    for n in range(warm_up + repeats):
        taken = {"input_gradient": 0}
        for key in ("fused_backward", "input_gradient"):
            (leaf, y), taken["forward"] = clock(lambda: forward(module, x, not first))
            inputs = [] if first else [leaf]
            wanted = inputs + (parameters if key == "fused_backward" else [])
            gradient = torch.ones_like(y)
            if wanted:
                _, taken[key] = clock(
                    lambda: torch.autograd.grad(y, wanted, gradient, allow_unused=True))
        for key, list_of in samples.items():
            list_of += [taken.get(key, 0)] if n >= warm_up else []
    return samples, y.detach()


def memory(module, x, first):
    """Bytes that F keeps for the backward, and the most that the backward takes on top of them."""
    weights = {p.data_ptr() for p in module.parameters()}
    saved, cuda = {}, x.is_cuda

    def keep(t):
        if t.data_ptr() not in weights:
            saved[t.storage().data_ptr()] = t.storage().nbytes() if hasattr(
                t.storage(), "nbytes") else size_of(t)
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        leaf, y = forward(module, x, not first)
    saved[leaf.storage().data_ptr()] = size_of(leaf)
    out = size_of(y)
    stash = sum(saved.values()) - (out if y.storage().data_ptr() in saved else 0)
    if not cuda:  # PyTorch counts nothing on a CPU: the output, its gradient and the input's
        return stash, 2 * out + size_of(leaf)
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    wanted = ([] if first else [leaf]) + [p for p in module.parameters() if p.requires_grad]
    torch.autograd.grad(y, wanted, torch.ones_like(y), allow_unused=True)
    gradients = sum(size_of(p) for p in module.parameters())
    return stash, max(torch.cuda.max_memory_allocated() - held - gradients, out)


def measure(module, x, first, clock, key, repeats, warm_up):
    samples, y = times(module, x, first, clock, repeats, warm_up)
    stash, working = memory(module, x, first)
    row = dict(key, tensor_degree=1, recompute="none", count=repeats)
    for action, taken in samples.items():
        row[action + "_ns"] = round(statistics.median(taken))
        row[action + "_spread_ns"] = round(statistics.pstdev(taken))
    row["weight_gradient_ns"] = max(row["fused_backward_ns"] - row["input_gradient_ns"], 0)
    row.update({"stash_bytes": stash, "working_peak_bytes": working, "boundary_bytes": size_of(y),
                "time_source": "run", "memory_source": "run" if x.is_cuda else "saved"})
    return row, y


def profile(name, sections, make_input, path=None, micro_batch_sizes=(1, 2, 4), sequence_length=0,
            repeats=10, warm_up=3, device_type=None, bytes_per_gradient=None, optimizer_bytes=8):
    """The profile as a dict; written to `path` when that is given."""
    sections = [s if len(s) == 3 else (s[0], s[1], s[0]) for s in sections]
    device = make_input(1).device
    if device_type is None:
        device_type = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    clock, types = Clock(device), {}
    for b in micro_batch_sizes:
        x = make_input(b)
        done = set()
        for index, (_, module, kind) in enumerate(sections):
            if kind in done:
                x = module(x).detach()
                continue
            done.add(kind)
            key = {"device": device_type, "micro_batch_size": b, "sequence_length": sequence_length}
            row, x = measure(module, x, index == 0, clock, key, repeats, warm_up)
            count = sum(p.numel() for p in module.parameters())
            types.setdefault(kind, {"name": kind,
                                    "parameters": [{"tensor_degree": 1, "count": count}],
                                    "measurements": []})["measurements"].append(row)
    parameter_bytes = max((p.element_size() for s in sections for p in s[1].parameters()), default=4)
    host = f"PyTorch {torch.__version__} on {platform.node()}, {time.strftime('%Y-%m-%d', time.gmtime())}"
    result = {
        "format": "penstock.profile/1", "name": name,
        "sources": [
            {"id": "run", "origin": "measured",
             "text": host + "; W is what the whole backward takes beyond the input gradient"},
            {"id": "saved", "origin": "derived",
             "text": "bytes that autograd saved; working memory from the sizes of input and output"}],
        "training": {"bytes_per_parameter": parameter_bytes,
                     "bytes_per_gradient": bytes_per_gradient or parameter_bytes,
                     "optimizer_bytes_per_parameter": optimizer_bytes, "source": "saved"},
        "section_types": list(types.values()),
        "sections": [{"name": s, "type": kind} for s, _, kind in sections]}
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
            file.write("\n")
    return result


def example(path):
    """A perceptron of four equal blocks between an input and an output layer."""
    torch.set_num_threads(1)
    width, block = 256, lambda: torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU())
    sections = [("input", torch.nn.Linear(64, width))]
    sections += [(f"block.{i}", block(), "block") for i in range(4)]
    sections += [("output", torch.nn.Sequential(torch.nn.Linear(width, 10), torch.nn.LogSoftmax(-1)))]
    profile("perceptron", sections, lambda b: torch.randn(64 * b, 64), path)


if __name__ == "__main__":
    import sys

    if len(sys.argv) != 2:
        sys.exit("usage: penstock_profile.py FILE.json   (an example; see the head of this file)")
    example(sys.argv[1])
