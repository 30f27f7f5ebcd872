#!/usr/bin/python3
"""Makes a checkpoint that `penstock train --resume` begins with, of weights from elsewhere.

    state_dict_to_checkpoint.py STATE_DICT --like CHECKPOINT FOLDER [--archive MODEL.pt]

STATE_DICT is a .safetensors file, what torch.save wrote, or a TorchScript archive. CHECKPOINT is one
of the same model, for example after one step: it says which tensors lie where. FOLDER is the new
run's folder of checkpoints; step-0 is written into it, with the weights of STATE_DICT, an optimizer
that has taken no step, and the data at their beginning:

    penstock train plan.json --data ... --steps 1000 --checkpoints FOLDER --resume

Numbers of another type are converted, which needs PyTorch.
"""

import argparse
import json
import os
import shutil
import sys

sys.dont_write_bytecode = True
import checkpoint_files as files  # pylint: disable=wrong-import-position


def converted(tensor, dtype):
    if tensor[0] == dtype:
        return tensor
    torch = files.import_torch("another type of numbers")
    return files.from_torch(files.to_torch(tensor).to(getattr(torch, files.TORCH_TYPES[dtype])))


class Weights:
    """The state dict, by section and name within it."""

    def __init__(self, state, names):
        self.state, self.names, self.used = state, names, set()

    def whole(self, key, like):
        name = self.names[key]
        if name not in self.state:
            raise files.Refusal(f"the state dict has no '{name}'")
        dtype, shape = like
        tensor = self.state[name]
        if list(tensor[1]) != list(shape):
            raise files.Refusal(f"'{name}' is {list(tensor[1])} in the state dict and {list(shape)} "
                                "in the checkpoint")
        self.used.add(name)
        return converted(tensor, dtype)[2]


def part(key, kind, dtype, facts, weights):
    """The bytes of one piece: of a weight, of its master copy, or of what begins at zero."""
    section, name = key
    size = files.SIZES[dtype]
    if kind == "optimizer":
        if not name.endswith(".master"):
            return bytes((facts["end"] - facts["begin"]) * size)
        name = name[:-len(".master")]
    return weights.whole((section, name), (dtype, facts["shape"]))[
        facts["begin"] * size:facts["end"] * size]


def rewritten(path, out, entry, weights, checksum):
    """Writes a file with the new numbers; returns its entry in the manifest."""
    tensors, metadata = files.read_safetensors(os.path.join(path, entry["name"]))
    new = {}
    for stored, (dtype, shape, _) in tensors.items():
        facts = json.loads(metadata[stored])
        ends = f"[{facts['begin']}:{facts['end']}]"
        is_part = facts["shape"] != shape and stored.endswith(ends)
        name = stored[:-len(ends)] if is_part else stored
        data = part((entry["section"], name), entry["kind"], dtype, facts, weights)
        new[stored] = (dtype, shape, data)
        metadata[stored] = json.dumps(facts | {"checksum": checksum(data)})
    head = files.write_safetensors(os.path.join(out, entry["name"]), new, metadata)
    size = len(head) + sum(len(data) for _, _, data in new.values())
    return entry | {"bytes": size, "header_checksum": checksum(head)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state_dict")
    parser.add_argument("folder")
    parser.add_argument("--like", required=True)
    parser.add_argument("--archive")
    arguments = parser.parse_args()
    path = files.newest_checkpoint(arguments.like)
    manifest = files.read_manifest(path)
    out = os.path.join(arguments.folder, "step-0")
    if os.path.exists(out):
        raise files.Refusal(f"{out}: is there already")
    weights = Weights(files.read_state_dict(arguments.state_dict),
                      files.names_of(path, manifest, arguments.archive))
    checksum = files.checksum()
    os.makedirs(out + ".partial")
    try:
        entries = [rewritten(path, out + ".partial", entry, weights, checksum)
                   for entry in manifest["files"]]
        manifest |= {"step": 0, "samples": 0, "files": entries,
                     "data": manifest["data"] | {"taken": 0},
                     "shared_numbers": manifest["shared_numbers"] | {"optimizer_steps": 0}}
        with open(os.path.join(out + ".partial", "manifest.json"), "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=2)
        os.rename(out + ".partial", out)
    except BaseException:
        shutil.rmtree(out + ".partial", ignore_errors=True)
        raise
    unused = sorted(set(weights.state) - weights.used)
    print(f"{out}: {len(weights.used)} tensors of {arguments.state_dict}" +
          (f"; not used: {', '.join(unused[:5])}{' ...' if len(unused) > 5 else ''}" if unused else ""))


if __name__ == "__main__":
    files.run(main)
