#!/usr/bin/python3
"""Makes a state dict of a checkpoint that `penstock train` wrote, under any layout.

    checkpoint_to_state_dict.py CHECKPOINT OUT [--archive MODEL.pt] [--master]

CHECKPOINT is a folder step-N, or the folder of checkpoints (then its newest). OUT is a .safetensors
file, or a .pt file for torch.load. Names are those of the model, whole: transformer.h.0.attn.weight.

--archive  the TorchScript archive that was trained: names are checked against it, and what it has
           besides (tied weights under their other names, buffers that training does not change) is
           added, so that load_state_dict() finds every name
--master   of runs in bfloat16 or float16: the optimizer's weights in single precision

Only .pt files and archives need PyTorch.
"""

import argparse
import sys

sys.dont_write_bytecode = True
import checkpoint_files as files  # pylint: disable=wrong-import-position


def state_dict(path, archive, master):
    manifest = files.read_manifest(path)
    names = files.names_of(path, manifest, archive)
    parameters = files.put_together(path, manifest, "parameters")
    if master:
        optimizer = files.put_together(path, manifest, "optimizer")
        parameters = {(section, name): optimizer.get((section, name + ".master"), tensor)
                      for (section, name), tensor in parameters.items()}
    return {names[key]: tensor for key, tensor in sorted(parameters.items())}


def aliases(archive):
    """{name: the first name of the same weight}, of names that share one."""
    module = files.import_torch(archive).jit.load(archive, map_location="cpu")
    first, others = {}, {}
    for name, tensor in module.state_dict().items():
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride()) if tensor.numel() else name
        others[name] = first.setdefault(key, name)
    return others


def add_rest(state, archive):
    whole, same = files.read_state_dict(archive), aliases(archive)
    by_first = {same[name]: tensor for name, tensor in state.items()}
    # In the order of the archive, as the model's own state_dict() has them.
    return {name: state.get(name, by_first.get(same[name], tensor))
            for name, tensor in whole.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("out")
    parser.add_argument("--archive")
    parser.add_argument("--master", action="store_true")
    arguments = parser.parse_args()
    path = files.newest_checkpoint(arguments.checkpoint)
    state = state_dict(path, arguments.archive, arguments.master)
    if arguments.archive:
        state = add_rest(state, arguments.archive)
    files.write_state_dict(arguments.out, state)
    count = sum(files.elements(shape) for _, shape, _ in state.values())
    print(f"{arguments.out}: {len(state)} tensors, {count:,} numbers, of {path}")


if __name__ == "__main__":
    files.run(main)
