"""Sailor's published runs -> data/runs/opt-350m.gh200-96gb.json.

usage: sailor_runs.py EXTRACT.json OUT_FOLDER

EXTRACT.json holds the results that eth-easl/sailor compares its simulator with
(sailor/Planner/simulations/validation): {"runs": [{"path": .., "stages": [[layers], ..], "dp": [D,
..], "mbs": b, "gbs": B, "real_s": s, "red_grads_s": s or null, "max_mem_bytes": n,
"tp_per_stage": T}, ..]}.
"""

import os

from penstock_files import Decimal, arguments, read_json, write

SOURCE = ("results published with Sailor (SOSP'25): eth-easl/sailor, "
          "sailor/Planner/simulations/validation; OPT-350M, fp32, sequence 2048, DeepSpeed pipeline "
          "engine, GH200 nodes with four GPUs, T = 4 inside a node, one node per stage and replica; "
          "median or mean and number of steps not published (count 1). Reductions were timed apart "
          "and are not additive; one was published by a copying error and is left out")


def cuts(stages):
    ends = [0]
    for layers in stages:
        if layers != list(range(ends[-1], ends[-1] + len(layers))):
            raise SystemExit(f"stages are not consecutive: {stages}")
        ends.append(ends[-1] + len(layers))
    return ends


def measured(run):
    if len(set(run["dp"])) != 1 or len(run["dp"]) != len(run["stages"]):
        raise SystemExit(f"{run['path']}: stages of different data degrees")
    plan = {
        "schedule": "1f1b", "group": 0, "pipeline": len(run["stages"]), "chunks": 1,
        "stage_map": "loop", "data": run["dp"][0], "tensor": run["tp_per_stage"],
        "micro_batch_size": run["mbs"], "global_batch": run["gbs"], "sequence_length": 2048,
        "recompute": "none", "zero1": False,
        "placement": "pipeline_inner", "device": "gh200-96gb", "cuts": cuts(run["stages"])}
    result = {"name": run["path"].removeprefix("plan_config_").removesuffix(".json"),
              "plan": plan, "step_time_s": Decimal(run["real_s"])}
    if run["red_grads_s"] is not None:
        result["reduce_gradients_s"] = Decimal(run["red_grads_s"])
    return result | {"peak_memory_bytes": run["max_mem_bytes"], "source": "runs"}


def main():
    source, folder = arguments("EXTRACT.json OUT_FOLDER", 2)
    write(os.path.join(folder, "opt-350m.gh200-96gb.json"), {
        "format": "penstock.runs/1",
        "name": "OPT-350M on GH200",
        "sources": [{"id": "runs", "origin": "measured", "text": SOURCE, "licence": "MIT"}],
        "profile": "../profiles/opt-350m.json",
        "cluster": "../clusters/gh200-96gb-16x4.json",
        "runs": [measured(run) for run in read_json(source)["runs"]],
    })


if __name__ == "__main__":
    main()
