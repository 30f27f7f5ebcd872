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


def size_of(tensor):
    return tensor.numel() * tensor.element_size()


class Section:
    """A module and its input, as at the boundary of a stage. Nobody needs the gradient of the data."""

    def __init__(self, module, x, first):
        self.module, self.x, self.first = module, x.detach(), first
        self.weights = [p for p in module.parameters() if p.requires_grad]

    def forward(self):
        leaf = self.x.detach() if self.first else self.x.detach().requires_grad_()
        return [] if self.first else [leaf], self.module(leaf)

    def timed(self, call):
        """What a call returns, and nanoseconds by the device's own clock where it has one."""
        if not self.x.is_cuda:
            begin, result = time.perf_counter_ns(), call()
            return result, time.perf_counter_ns() - begin
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = call()
        end.record()
        end.synchronize()
        return result, round(begin.elapsed_time(end) * 1e6)

    def times(self, repeats, warm_up):
        """The engine skips what is not asked for, so I costs only I; W asked for alone would make the
        input gradients inside the section once more, so it is B less I."""
        samples = {"forward": [], "fused_backward": [], "input_gradient": []}
        backwards = [("fused_backward", self.weights), ("input_gradient", [])]
        for key, weights in backwards * (warm_up + repeats):
            (inputs, y), forward = self.timed(self.forward)
            wanted, ones = inputs + weights, torch.ones_like(y)
            backward = lambda: torch.autograd.grad(y, wanted, ones, allow_unused=True)
            samples["forward"].append(forward)
            samples[key].append(self.timed(backward)[1] if wanted else 0)
        row = {"count": repeats}
        for key, taken in samples.items():
            row[key + "_ns"] = round(statistics.median(taken[-repeats:]))
            row[key + "_spread_ns"] = round(statistics.pstdev(taken[-repeats:]))
        row["weight_gradient_ns"] = max(row["fused_backward_ns"] - row["input_gradient_ns"], 0)
        return row, y.detach()

    def memory(self):
        """Bytes that F keeps for the backward, and the most that the backward takes on top of them."""
        weights = {p.data_ptr() for p in self.module.parameters()}
        saved = {self.x.storage().data_ptr(): size_of(self.x)}

        def keep(t):
            if t.data_ptr() not in weights:
                saved.setdefault(t.storage().data_ptr(), t.storage().nbytes())
            return t

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            inputs, y = self.forward()
        saved.pop(y.storage().data_ptr(), None)  # the next section keeps it
        working = 2 * size_of(y) + size_of(self.x)  # the output, its gradient and the input's
        if self.x.is_cuda:
            held = torch.cuda.memory_allocated() + sum(map(size_of, self.weights))
            torch.cuda.reset_peak_memory_stats()
            torch.autograd.grad(y, inputs + self.weights, torch.ones_like(y), allow_unused=True)
            working = max(torch.cuda.max_memory_allocated() - held, size_of(y))
        return {"stash_bytes": sum(saved.values()), "working_peak_bytes": working,
                "boundary_bytes": size_of(y), "memory_source": "run" if self.x.is_cuda else "saved"}


def profile(name, sections, make_input, path=None, micro_batch_sizes=(1, 2, 4), sequence_length=0,
            repeats=10, warm_up=3, device_type=None, bytes_per_gradient=None, optimizer_bytes=8):
    """The profile as a dict; written to `path` when that is given."""
    sections, types = [s if len(s) == 3 else (*s, s[0]) for s in sections], {}
    for b in micro_batch_sizes:
        x, done = make_input(b), set()
        device = device_type or (torch.cuda.get_device_name(x.device) if x.is_cuda else "cpu")
        for index, (_, module, kind) in enumerate(sections):
            if kind in done:
                x = module(x).detach()
                continue
            done.add(kind)
            section = Section(module, x, index == 0)
            times, x = section.times(repeats, warm_up)
            count = sum(p.numel() for p in module.parameters())
            type_ = types.setdefault(kind, {"name": kind, "measurements": [],
                                            "parameters": [{"tensor_degree": 1, "count": count}]})
            type_["measurements"].append({
                "device": device, "tensor_degree": 1, "micro_batch_size": b, "recompute": "none",
                "sequence_length": sequence_length, "time_source": "run", **times, **section.memory()})
    weight = max((p.element_size() for s in sections for p in s[1].parameters()), default=4)
    run = f"PyTorch {torch.__version__} on {platform.node()}, {time.strftime('%Y-%m-%d', time.gmtime())}"
    result = {
        "format": "penstock.profile/1", "name": name,
        "sources": [
            {"id": "run", "origin": "measured",
             "text": run + "; W is what the whole backward takes beyond the input gradient"},
            {"id": "saved", "origin": "derived",
             "text": "bytes that autograd saved; working memory from the sizes of input and output"}],
        "training": {"bytes_per_parameter": weight, "bytes_per_gradient": bytes_per_gradient or weight,
                     "optimizer_bytes_per_parameter": optimizer_bytes, "source": "saved"},
        "section_types": list(types.values()),
        "sections": [{"name": s, "type": kind} for s, _, kind in sections]}
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(result, indent=2) + "\n")
    return result
