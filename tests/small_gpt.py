"""A GPT of a few thousand parameters and a machine, as files of penstock, for runs that take seconds."""


def profile(source, layers, sequence, precision="float32", device="processor", hidden=32, tied=False):
    """Times are made up: 1 ms each of F, I and W, for every section."""
    row = {"device": device, "tensor_degree": 1, "micro_batch_size": 1,
           "sequence_length": sequence, "recompute": "none", "forward_ms": 1,
           "input_gradient_ms": 1, "weight_gradient_ms": 1, "fused_backward_ms": 2,
           "recompute_time_ms": 0, "stash_bytes": 1000, "weight_stash_bytes": 500,
           "working_peak_bytes": 100, "boundary_bytes": 4 * hidden * sequence}
    section = {"name": "section", "parameters": [{"tensor_degree": 1, "count": 10000}],
               "measurements": [row]}
    names = ["embedding"] + [f"blocks.{i}" for i in range(layers)] + ["head"]
    made = {
        "format": "penstock.profile/1", "name": "small gpt",
        "sources": [{"id": "made-up", "origin": "assumed", "text": source}],
        "description": {"family": "gpt", "layers": layers, "hidden": hidden, "heads": 2,
                        "feed_forward": 2 * hidden, "vocabulary": 256, "positions": sequence,
                        "tied_embedding": tied, "precision": precision, "optimizer": "adamw"},
        "training": {"bytes_per_parameter": 4, "bytes_per_gradient": 4,
                     "optimizer_bytes_per_parameter": 8, "optimizer_ps_per_parameter": 1000},
        "section_types": [section],
        "sections": [{"name": name, "type": "section"} for name in names]}
    if tied:
        made["tied_weights"] = [{"name": "embedding", "sections": ["embedding", "head"],
                                 "parameters": [{"tensor_degree": 1, "count": 100}]}]
    return made


def cluster(source, name, devices=1, nodes=1, device="processor", level="loopback", latency_ms=1,
            memory=10**10):
    return {
        "format": "penstock.cluster/1", "name": name,
        "sources": [{"id": "made-up", "origin": "assumed", "text": source}],
        "device_types": [{"name": device, "memory_bytes": memory, "reserve_bytes": 0,
                          "memory_bandwidth_bytes_per_s": memory}],
        "node_types": [{"name": "node", "device_type": device, "devices": devices}],
        "nodes": [{"node_type": "node", "count": nodes}],
        "levels": [{"name": level, "latency_ms": latency_ms, "bandwidth_bytes_per_s": 10**9}]}
