"""Sailor's published runs -> data/runs/opt-350m.gh200-96gb.json, or those of GPT-Neo.

usage: sailor_runs.py EXTRACT.json OUT_FOLDER [gpt-neo-2.7b]

EXTRACT.json holds the results that eth-easl/sailor compares its simulator with
(sailor/Planner/simulations/validation/clariden): {"runs": [{"path": .., "stages": [[layers], ..], "dp": [D,
..], "mbs": b, "gbs": B, "real_s": s, "red_grads_s": s or null, "max_mem_bytes": n,
"tp_per_stage": T}, ..]}.
"""

import os
import sys

from penstock_files import Decimal, arguments, read_json, write

SOURCE = ("results published with Sailor (SOSP'25): eth-easl/sailor, "
          "sailor/Planner/simulations/validation; {}, fp32, sequence 2048, DeepSpeed pipeline "
          "engine, GH200 nodes with four GPUs, T = 4 inside a node, one node per stage and replica; "
          "median or mean and number of steps not published (count 1). Reductions were timed apart "
          "and are not additive; one was published by a copying error and is left out")
# By profile: the model, what its file is called, where it ran, what is left out.
SETS = {
    "opt-350m": ("OPT-350M", "../clusters/gh200-96gb-16x4.json", ""),
    "gpt-neo-2.7b": ("GPT-Neo-2.7B", "../clusters/gh200-96gb-64x4.json",
                     ". One run of 26 of the 34 sections (N4_D4) is left out; "
                     "a layer 29 between 18 and 20 is read as 19"),
}


def cuts(stages):
    """Layers count up; one that does not, between two that do, is a misprint."""
    ends = [0]
    for layers in stages:
        expected = list(range(ends[-1], ends[-1] + len(layers)))
        wrong = [i for i, layer in enumerate(layers) if layer != expected[i]]
        if wrong and (len(wrong) > 1 or wrong[0] in (0, len(layers) - 1)):
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
    name = sys.argv.pop(3) if len(sys.argv) == 4 else "opt-350m"
    if name not in SETS:
        raise SystemExit(f"known are {', '.join(SETS)}, not {name}")
    source, folder = arguments("EXTRACT.json OUT_FOLDER [gpt-neo-2.7b]", 2)
    model, cluster, left_out = SETS[name]
    text = SOURCE.format(model) + left_out
    write(os.path.join(folder, f"{name}.gh200-96gb.json"), {
        "format": "penstock.runs/1",
        "name": f"{model} on GH200",
        "sources": [{"id": "runs", "origin": "measured", "text": text, "licence": "MIT"}],
        "profile": f"../profiles/{name}.json",
        "cluster": cluster,
        "runs": [measured(run) for run in read_json(source)["runs"]],
    })


if __name__ == "__main__":
    main()
