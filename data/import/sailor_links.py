"""Sailor's published bandwidth fits -> data/clusters/*-16x4.json.

usage: sailor_links.py EXTRACT.json OUT_FOLDER

EXTRACT.json holds the fits of eth-easl/sailor, sailor/providers: {"network_coeffs_all_homo":
{"inter": {GPU: {GPUs per node: [[c2, c1, c0], peak B/s]}}, "intra": ..}}. The fit reads GB/s =
c2 x^2 + c1 x + c0. Its x has no stated unit; log2 of the size in MB reproduces the published
peaks, so that is what is taken. The curves are samples of the fits, not measurements.
"""

import os

from penstock_files import arguments, read_json, write

NODES, PER_NODE = 16, 4
ASSUMED_RESERVE = (2 << 30, "The reserve of 2 GiB (context, NCCL buffers, fragmentation) is assumed")
# data/README.md, "Sailor's models"
RUN_RESERVE = (5000000000, "The reserve is what Sailor's nine measured OPT-350M runs on this machine "
               "held beyond the bytes of our profile, 4.1 to 4.96 GB, rounded up")
MIB = 1 << 20

# name in the source: file, device type, memory, memory bandwidth, node type, text
CLUSTERS = {
    "A100-40": ("a100-40gb-gcp-16x4.json", "a100-40gb", 42505273344, 1555, "a2-highgpu-4g",
                "NVIDIA A100-SXM4-40GB: 1555 GB/s"),
    "A100-80": ("a100-80gb-gcp-16x4.json", "a100-80gb", 84987740160, 2039, "a2-ultragpu-4g",
                "NVIDIA A100-SXM4-80GB: 2039 GB/s"),
    "V100-16": ("v100-16gb-gcp-16x4.json", "v100-16gb", 16944988160, 900, "n1-v100-4",
                "NVIDIA V100-SXM2-16GB: 900 GB/s"),
    "GH-96": ("gh200-96gb-16x4.json", "gh200-96gb", 101468602368, 4000, "gh200-4",
              "NVIDIA GH200 with 96 GB HBM3: 4000 GB/s"),
}
# Published under the device's name, but not of it.
BORROWED = {"A100-80": " The source lists the fit of the A100-40GB for the A100-80GB."}


def curve(fit):
    """Samples at 1 MiB to 1 GiB: bandwidth not above the published peak, times not decreasing."""
    (c2, c1, c0), peak = fit
    points, before = [], 0
    for x in range(11):
        size = MIB << x
        bandwidth = min(float(c2) * x * x + float(c1) * x + float(c0), float(peak) / 1e9)
        time_ns = max(before, round(size / bandwidth))
        points.append({"bytes": size, "time_ns": time_ns})
        before = time_ns
    return points


def cluster(gpu, coefficients):
    _, device, memory, bandwidth, node, sheet = CLUSTERS[gpu]
    reserve, why = RUN_RESERVE if gpu == "GH-96" else ASSUMED_RESERVE
    inter, intra = coefficients["inter"][gpu], coefficients["intra"][gpu]
    shared = round(float(inter[str(PER_NODE)][1]))
    fit = ("sampled at powers of two from 1 MiB to 1 GiB from a bandwidth fit published with Sailor "
           "(SOSP'25): eth-easl/sailor, sailor/providers; GB/s as a square polynomial of log2(size "
           "in MB), that unit being an inference; not above the published peak. No data below "
           "1 MiB: a smaller message costs as much as the first point. ")
    return {
        "format": "penstock.cluster/1",
        "name": f"{NODES} x {node}",
        "sources": [
            {"id": "device", "origin": "datasheet",
             "text": f"{sheet} memory bandwidth; total memory as drivers commonly report it. {why}. "
             "The number of nodes is assumed. No price"},
            {"id": "within", "origin": "derived", "licence": "MIT",
             "text": fit + "The fit for two devices of a node." + BORROWED.get(gpu, "")},
            {"id": "between", "origin": "derived", "licence": "MIT",
             "text": fit + "The fit for nodes with one device; what four devices share is the "
             "published peak for nodes with four"},
        ],
        "device_types": [
            {"name": device, "memory_bytes": memory, "reserve_bytes": reserve,
             "memory_bandwidth_bytes_per_s": bandwidth * 10**9, "source": "device"}],
        "node_types": [{"name": node, "device_type": device, "devices": PER_NODE}],
        "nodes": [{"node_type": node, "count": NODES}],
        "levels": [
            {"name": "node", "devices": PER_NODE, "curve": curve(intra["2"]), "source": "within"},
            {"name": "network", "curve": curve(inter["1"]),
             "shared_bandwidth_bytes_per_s": shared, "source": "between"}],
    }


def main():
    source, folder = arguments("EXTRACT.json OUT_FOLDER", 2)
    coefficients = read_json(source)["network_coeffs_all_homo"]
    for gpu, (file, *_) in CLUSTERS.items():
        write(os.path.join(folder, file), cluster(gpu, coefficients))
    # GPT-Neo's runs took up to 64 nodes.
    larger = cluster("GH-96", coefficients)
    larger["name"] = "64 x gh200-4"
    larger["nodes"][0]["count"] = 64
    write(os.path.join(folder, "gh200-96gb-64x4.json"), larger)


if __name__ == "__main__":
    main()
