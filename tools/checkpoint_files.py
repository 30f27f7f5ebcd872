"""What the two converters of checkpoints share: safetensors files, and the names in penstock's.

Plain Python, so that a file of any size is read piece by piece; tensors are (dtype, shape, bytes)
with dtype as safetensors names it: F32, F64, BF16, F16, I64. A state dict is a dictionary of them.
"""

import ctypes
import ctypes.util
import json
import os
import struct
import sys

SIZES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1,
         "BOOL": 1}


class Refusal(Exception):
    """What is wrong with an input, for the person who gave it."""


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def read_header(file, path):
    """The header, and where the data begin."""
    start = file.read(8)
    if len(start) < 8:
        raise Refusal(f"{path}: is no safetensors file")
    length, = struct.unpack("<Q", start)
    if length > min(100_000_000, os.path.getsize(path)):
        raise Refusal(f"{path}: is no safetensors file")
    return json.loads(file.read(length)), 8 + length


def read_safetensors(path):
    """{name: (dtype, shape, bytes)} and the metadata."""
    with open(path, "rb") as file:
        header, start = read_header(file, path)
        metadata = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            file.seek(start + begin)
            data = file.read(end - begin)
            if len(data) != end - begin or elements(entry["shape"]) * SIZES[entry["dtype"]] != end - begin:
                raise Refusal(f"{path}: tensor '{name}' is cut off")
            tensors[name] = (entry["dtype"], entry["shape"], data)
    return tensors, metadata


def safetensors_header(tensors, metadata):
    header, at = ({"__metadata__": metadata} if metadata else {}), 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    return text + b" " * (-len(text) % 8)


def write_safetensors(path, tensors, metadata=None):
    """Returns the bytes of the header, with its length in front."""
    text = safetensors_header(tensors, metadata)
    head = struct.pack("<Q", len(text)) + text
    with open(path, "wb") as file:
        file.write(head)
        for _, _, data in tensors.values():
            file.write(data)
    return head


TORCH_TYPES = {"F64": "float64", "F32": "float32", "BF16": "bfloat16", "F16": "float16",
               "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
               "BOOL": "bool"}


def import_torch(why):
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Refusal(f"{why} needs PyTorch (Debian: python3-torch); use .safetensors") from error
    return torch


def to_torch(tensor):
    torch = import_torch("a .pt file")
    dtype, shape, data = tensor
    flat = torch.frombuffer(bytearray(data), dtype=getattr(torch, TORCH_TYPES[dtype])) \
        if data else torch.empty(0, dtype=getattr(torch, TORCH_TYPES[dtype]))
    return flat.reshape(shape)


def from_torch(tensor):
    torch = import_torch("a .pt file")
    tensor = tensor.detach().cpu().contiguous()
    names = {getattr(torch, name): dtype for dtype, name in TORCH_TYPES.items()}
    flat = tensor.reshape(-1).view(torch.uint8) if tensor.numel() else tensor.reshape(-1)
    return names[tensor.dtype], list(tensor.shape), bytes(flat.numpy().tobytes())


def read_state_dict(path):
    """Of a .safetensors file, of what torch.save wrote, or of a TorchScript archive."""
    if path.endswith(".safetensors"):
        return read_safetensors(path)[0]
    torch = import_torch(path)
    try:
        loaded = torch.jit.load(path, map_location="cpu").state_dict()
    except RuntimeError:
        loaded = torch.load(path, map_location="cpu")
    loaded = loaded.get("state_dict", loaded)
    return {name: from_torch(tensor) for name, tensor in loaded.items()
            if isinstance(tensor, torch.Tensor)}


def write_state_dict(path, tensors):
    if path.endswith(".safetensors"):
        write_safetensors(path, tensors, {"format": "pt"})
        return
    torch = import_torch(path)
    torch.save({name: to_torch(tensor) for name, tensor in tensors.items()}, path)


def newest_checkpoint(path):
    """A folder of checkpoints stands for its newest complete one."""
    if os.path.exists(os.path.join(path, "manifest.json")):
        return path
    steps = [int(name[5:]) for name in (os.listdir(path) if os.path.isdir(path) else [])
             if name.startswith("step-") and name[5:].isdigit() and
             os.path.exists(os.path.join(path, name, "manifest.json"))]
    if not steps:
        raise Refusal(f"{path}: is no checkpoint, and there is none in it")
    return os.path.join(path, f"step-{max(steps)}")


def read_manifest(path):
    with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    if manifest.get("format") != "penstock.checkpoint/1":
        raise Refusal(f"{path}/manifest.json: expected \"format\": \"penstock.checkpoint/1\"")
    if not manifest.get("section_names"):
        raise Refusal(f"{path}/manifest.json: written by an earlier version, and has no names of "
                      "sections; resume the run for a step with --checkpoints, and take that one")
    return manifest


def section_prefix(names, section, all_sections, known):
    """What stands before the names of a section's parameters in the model.

    A section whose parameters all belong to the submodule it is named after has them without the
    submodule's name; else they are whole. `known`: names of the model, where they are at hand.
    """
    inside = section + "."
    if known:
        for prefix in (inside, ""):
            if all(prefix + name in known for name in names):
                return prefix
        raise Refusal(f"section {section}: parameter {sorted(names)[0]} is not in the archive")
    roots = {name.split(".")[0] + "." for name in all_sections}
    whole = any(name.startswith(root) for name in names for root in roots)
    return "" if whole else inside


def pieces_of(path, manifest, kind):
    """(section, name within it, stored piece, its own facts) of all files of one kind."""
    for entry in manifest["files"]:
        if entry["kind"] != kind:
            continue
        tensors, metadata = read_safetensors(os.path.join(path, entry["name"]))
        for name, tensor in tensors.items():
            facts = json.loads(metadata[name])
            ends = f"[{facts['begin']}:{facts['end']}]"
            if facts["shape"] != tensor[1] and name.endswith(ends):
                name = name[:-len(ends)]
            yield entry["section"], name, tensor, facts


def put_together(path, manifest, kind):
    """{(section, name): tensor}, whole."""
    whole, missing = {}, {}
    for section, name, (dtype, _, data), facts in pieces_of(path, manifest, kind):
        key, size = (section, name), SIZES[dtype]
        count = elements(facts["shape"])
        if key not in whole:
            whole[key] = (dtype, facts["shape"], bytearray(count * size))
            missing[key] = count
        whole[key][2][facts["begin"] * size:facts["end"] * size] = data
        missing[key] -= facts["end"] - facts["begin"]
    for key, count in missing.items():
        if count != 0:
            raise Refusal(f"{path}: no file holds all of '{key[1]}' of section {key[0]}")
    return whole


def names_of(path, manifest, archive):
    """{(section, name within it): name in the model}."""
    model = json.loads(manifest["model"])
    is_archive = model.get("family") == "torchscript"
    known = set(read_state_dict(archive)) if archive and is_archive else set()
    names = manifest["section_names"]
    by_section = {}
    for section, name, _, _ in pieces_of(path, manifest, "parameters"):
        by_section.setdefault(section, set()).add(name)
    result = {}
    for section, inside in by_section.items():
        prefix = (section_prefix(inside, names[section], names, known) if is_archive
                  else names[section] + ".")
        result |= {(section, name): prefix + name for name in inside}
    return result


def checksum():
    """XXH64 of bytes, as "xxh64:0123456789abcdef"."""
    try:
        import xxhash  # pylint: disable=import-outside-toplevel
        return lambda data: f"xxh64:{xxhash.xxh64(data).intdigest():016x}"
    except ImportError:
        pass
    found = ctypes.util.find_library("xxhash")
    if not found:
        raise Refusal("checksums need xxhash (Debian: python3-xxhash)")
    function = ctypes.CDLL(found).XXH64
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return lambda data: f"xxh64:{function(bytes(data), len(data), 0):016x}"


def run(main):
    try:
        main()
    except (Refusal, OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
