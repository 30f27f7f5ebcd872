"""Plausibility of shipped profiles and clusters, beyond what the format demands.

usage: check_files.py FILE...

Prints one line per file, and one per finding; exits 1 when there are findings.
"""

import json
import sys

BYTES = ("stash_bytes", "weight_stash_bytes", "working_peak_bytes", "boundary_bytes")
MEMORY = {"a100-40gb": 40e9, "a100-80gb": 80e9, "v100-16gb": 16e9, "gh200-96gb": 96e9}
# Operations per second that no measurement may exceed (fp16 or tf32 tensor cores).
PEAK = {"a100-40gb": 312e12, "a100-80gb": 312e12, "v100-16gb": 125e12, "gh200-96gb": 990e12}


def duration_ms(row, stem):
    for unit, factor in (("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if f"{stem}_{unit}" in row:
            return row[f"{stem}_{unit}"] * factor
    return None


def check_row(kind, row, parameters):
    device, tokens = row["device"], row["micro_batch_size"] * row["sequence_length"]
    forward, backward = duration_ms(row, "forward"), duration_ms(row, "fused_backward")
    if forward <= 0 or backward < 0:
        yield "a time is not positive"
    if any(row[name] < 0 or row[name] != int(row[name]) for name in BYTES):
        yield "a byte count is not a whole number >= 0"
    if max(row[name] for name in BYTES) > MEMORY[device]:
        yield "holds more than the device has"
    if kind == "layer":
        # 2 operations per parameter and token forward, 4 backward
        if 6e3 * parameters * tokens / (forward + backward) > PEAK[device]:
            yield "faster than the device can be"
        if not 0.2 <= forward / backward <= 2:
            yield f"forward {forward} ms, backward {backward} ms"


def check_profile(profile):
    sources = {source["id"] for source in profile["sources"]}
    used = {profile["training"].get("source")}
    types = {section_type["name"]: section_type for section_type in profile["section_types"]}
    for section in profile["sections"]:
        if section["type"] not in types:
            yield f"section {section['name']}: no type {section['type']}"
    for name, section_type in types.items():
        seen = set()
        used.add(section_type["parameter_source"])
        counts = {p["tensor_degree"]: p["count"] for p in section_type["parameters"]}
        for row in section_type["measurements"]:
            key = (row["device"], row["tensor_degree"], row["micro_batch_size"],
                   row["sequence_length"], row.get("recompute", "none"))
            used.update(row[k] for k in ("time_source", "split_source", "memory_source"))
            if key in seen:
                yield f"{name} {key}: twice"
            seen.add(key)
            for finding in check_row(name, row, counts[row["tensor_degree"]]):
                yield f"{name} {key}: {finding}"
    if used != sources:
        yield f"sources not used or not there: {sorted(used ^ sources)}"


def check_cluster(cluster):
    for level in cluster["levels"]:
        points = [(p["bytes"], duration_ms(p, "time")) for p in level.get("curve", [])]
        for (bytes_a, time_a), (bytes_b, time_b) in zip(points, points[1:]):
            if bytes_b <= bytes_a or time_b < time_a:
                yield f"level {level['name']}: {bytes_b} bytes after {bytes_a}"
    if "devices" in cluster["levels"][-1]:
        yield "the last level joins all devices and has no `devices`"


def main():
    bad = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        value = json.loads(text)
        check = check_profile if value["format"].startswith("penstock.profile/") else check_cluster
        findings = list(check(value))
        print(f"{path}: {len(text)} bytes, {len(findings)} findings")
        for finding in findings:
            print("  " + finding)
        bad += len(findings)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
