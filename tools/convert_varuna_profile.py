#!/usr/bin/python3
"""Makes a profile of Varuna into penstock.profile/1, and what it says of links into penstock.cluster/1.

    convert_varuna_profile.py FOLDER --device v100-16gb -o profile.json
    convert_varuna_profile.py FOLDER --device v100-16gb -o profile.json --cluster-out cluster.json \\
        --nodes 4 --gpus-per-node 4 --memory-gib 15.8 --memory-bandwidth-gb-per-s 900 --element-size 2

FOLDER holds compute-profile-0, compute-profile-1, .. (one per cut-point block), and for a cluster comm-profile
and allred-profile. They are pickles; what is read of them are dicts, lists, tuples, texts, integers and floats,
and whatever names a class or calls a function is refused before anything runs.

Compute times and the bytes of activations are data. Memory, parameters, links and all-reduces are hints of low
confidence, marked so in the sources of the files: Varuna measured memory of one block alone with its optimizer,
transfers while others were queued, all-reduces with their start-up. Element counts become bytes by
--element-size. Exit code 2 for what is malformed, 3 for a file that is not there.
"""

import argparse
import json
import math
import os
import pickletools
import sys

MOST = 2 ** 53          # bytes, elements, parameters
LONGEST_US = 1e12       # 10^6 s
MARK = object()
RESERVE_BYTES = 1536 * 2 ** 20
STATE = {"bytes_per_parameter": 2, "bytes_per_gradient": 2, "optimizer_bytes_per_parameter": 12}
STATE_BYTES = sum(STATE.values())

CONSTANTS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING",
             "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
GETS = {"GET", "BINGET", "LONG_BINGET"}
FIXED_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class Refusal(Exception):
    """What is wrong, and what to do."""

    def __init__(self, what, remedy):
        super().__init__(f"error: {what}\nhelp: {remedy}")


class Missing(Refusal):
    pass


class PlainPickle:
    """A machine for the few opcodes that make plain values. It imports nothing and calls nothing of the file."""

    def __init__(self, path, data):
        self.path, self.data = path, data
        self.stack, self.memo = [], {}

    def value(self):
        try:
            for opcode, argument, position in pickletools.genops(self.data):
                if opcode.name == "STOP":
                    break
                self.do(opcode.name, argument, position)
        except Refusal:
            raise
        except Exception as error:  # whatever a broken file brings about in the parser or on the stack
            raise Refusal(f"{self.path}: not a whole pickle: {error}", "copy the file again") from error
        if len(self.stack) != 1 or self.stack[0] is MARK:
            raise Refusal(f"{self.path}: not a whole pickle: {len(self.stack)} values at its end", "copy the file again")
        return self.stack[0]

    def do(self, name, argument, position):
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name in CONSTANTS:
            stack.append(argument)
        elif name in FIXED_TUPLES:
            count = FIXED_TUPLES[name]
            if len(stack) < count:
                raise IndexError("the stack is empty")
            stack[len(stack) - count:] = [tuple(stack[len(stack) - count:])]
        elif name == "MARK":
            stack.append(MARK)
        elif name in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append({} if name == "EMPTY_DICT" else [])
        elif name in ("DICT", "LIST", "TUPLE"):
            items = self.items_to_mark()
            stack.append(pairs(items) if name == "DICT" else items if name == "LIST" else tuple(items))
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            plain(stack[-1], dict)[key] = value
        elif name == "SETITEMS":
            items = self.items_to_mark()
            plain(stack[-1], dict).update(pairs(items))
        elif name == "APPEND":
            value = stack.pop()
            plain(stack[-1], list).append(value)
        elif name == "APPENDS":
            items = self.items_to_mark()
            plain(stack[-1], list).extend(items)
        elif name in PUTS:
            self.memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in GETS:
            stack.append(self.memo[argument])
        else:
            raise Refusal(
                f"{self.path}: byte {position}: the opcode {name}: expected a dict, list, tuple, text, integer or "
                "float, nothing that names a class or calls a function",
                "do not load this file; where it comes from numpy, convert its numbers with float() and dump it again")

    def items_to_mark(self):
        items = []
        while self.stack[-1] is not MARK:
            items.append(self.stack.pop())
        self.stack.pop()
        return items[::-1]


def plain(value, kind):
    if type(value) is not kind:
        raise TypeError(f"expected a {kind.__name__}, got a {type(value).__name__}")
    return value


def pairs(items):
    if len(items) % 2:
        raise ValueError("a key without a value")
    return dict(zip(items[::2], items[1::2]))


def read_pickle(path):
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Missing(f"{path}: cannot read this file: {error.strerror}", "name the folder of a Varuna profile") from error
    return PlainPickle(path, data).value()


def dict_at(path, place, value):
    if type(value) is not dict or not value:
        raise Refusal(f"{path}: {place}: expected a dict that is not empty, got {shown(value)}",
                      "give a profile as Varuna wrote it")
    return value


def shown(value):
    if type(value) is int and value.bit_length() > 64:
        return "a number of more than 64 bits"
    text = repr(value) if type(value) in (int, float, str) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def whole(path, place, value, least=0, most=MOST):
    """Also of a float that is whole, as means of bytes are; what is beyond its point rounds up."""
    number_at(path, place, value, least, most)
    return math.ceil(value)


def number_at(path, place, value, least, most):
    fits = type(value) in (int, float) and least <= value <= most  # so no nan either
    if not fits:
        raise Refusal(f"{path}: {place}: expected a number from {least} to {most:g}, got {shown(value)}",
                      "give a profile as Varuna wrote it")
    return value


def microseconds(path, place, value):
    number_at(path, place, value, 0, LONGEST_US)
    if value == 0:
        raise Refusal(f"{path}: {place}: expected a time > 0, got 0", "measure it again")
    # Nanoseconds, rounded up: integers are the same on every machine.
    return math.ceil(value * 1000)


class Block:
    """A cut-point block: {micro-batch size: {fwd, bwd, copy, max_memory, acts_size}}."""

    def __init__(self, path):
        self.sizes = {}
        for size, row in sorted_items(path, "the profile", read_pickle(path)):
            place = f"micro-batch size {size}"
            whole(path, "a micro-batch size", size, 1, 2 ** 20)
            dict_at(path, place, row)
            missing = [key for key in ("fwd", "bwd", "max_memory", "acts_size") if key not in row]
            if missing:
                raise Refusal(f"{path}: {place}: there is no {missing[0]}", "give a profile as Varuna wrote it")
            self.sizes[size] = {
                "forward": microseconds(path, f"{place}: fwd", row["fwd"]),
                "backward": microseconds(path, f"{place}: bwd", row["bwd"]),
                "memory": whole(path, f"{place}: max_memory", row["max_memory"]),
                "boundary": whole(path, f"{place}: acts_size", row["acts_size"])}

    def bytes_per_sample(self):
        """Of the largest and the smallest size; of one size nothing can be told apart."""
        least, most = min(self.sizes), max(self.sizes)
        if least == most:
            return 0
        return max(0, (self.sizes[most]["memory"] - self.sizes[least]["memory"]) // (most - least))

    def parameters(self):
        """What is left of the memory when nothing runs, over the bytes that training keeps of one."""
        least = min(self.sizes)
        return max(0, self.sizes[least]["memory"] - least * self.bytes_per_sample()) // STATE_BYTES


def sorted_items(path, place, value):
    dict_at(path, place, value)
    for key in value:
        if type(key) is not int:
            raise Refusal(f"{path}: {place}: expected whole numbers as keys, got {shown(key)}",
                          "give a profile as Varuna wrote it")
    return sorted(value.items())


def read_blocks(folder):
    blocks = []
    while os.path.exists(os.path.join(folder, f"compute-profile-{len(blocks)}")):
        blocks.append(Block(os.path.join(folder, f"compute-profile-{len(blocks)}")))
    if not blocks:
        raise Missing(f"{os.path.join(folder, 'compute-profile-0')}: there is no such file",
                      "name the folder of a Varuna profile")
    known = {f"compute-profile-{i}" for i in range(len(blocks))}
    for name in sorted(os.listdir(folder)):
        if name.startswith("compute-profile-") and name not in known:
            raise Refusal(f"{folder}: {name} is there, but compute-profile-{len(blocks)} is not",
                          "profile the block that is missing")
    return blocks


def measurements(blocks, index, options, parameters):
    """With every activation kept, and as Varuna runs them: only the input kept, the forward done again."""
    block = blocks[index]
    result = []
    for size, row in block.sizes.items():
        kept = size * block.bytes_per_sample()
        if len(block.sizes) == 1:
            kept = max(0, row["memory"] - parameters * STATE_BYTES)
        # What comes in is what the block before hands on; the first one reads tokens, which are less.
        before = blocks[max(index - 1, 0)].sizes.get(size, row)["boundary"]
        common = {"device": options.device, "tensor_degree": 1, "micro_batch_size": size,
                  "sequence_length": options.sequence_length,
                  "forward_ns": row["forward"], "fused_backward_ns": row["backward"],
                  "boundary_bytes": row["boundary"], "time_source": "varuna", "split_source": "hints",
                  "memory_source": "hints"}
        result.append(common | {"recompute": "none", "stash_bytes": kept, "working_peak_bytes": 0})
        result.append(common | {"recompute": "full", "recompute_time_ns": row["forward"], "stash_bytes": before,
                                "working_peak_bytes": kept})
    return result


def parameters_of(blocks, options):
    if options.parameters is None:
        return [block.parameters() for block in blocks]
    counts = options.parameters
    if len(counts) not in (1, len(blocks)):
        raise Refusal(f"--parameters: {len(counts)} counts for {len(blocks)} blocks", "give one for all, or one for each")
    return counts * len(blocks) if len(counts) == 1 else counts


def profile_of(blocks, parameters, options):
    where = f"{options.name}, {options.device}" + (f", {options.date}" if options.date else ", date not said")
    counted = ("given to the converter" if options.parameters
               else f"what memory is left at no samples, over {STATE_BYTES} bytes per parameter")
    return {
        "format": "penstock.profile/1", "name": options.name,
        "sources": [
            {"id": "varuna", "origin": "measured",
             "text": f"Varuna's profile of {where}: means of five passes under load; the recompute is taken to be the forward"},
            {"id": "hints", "origin": "derived",
             "text": "low confidence: memory that grows with the samples, of Varuna's peak of one block alone with its "
                     "optimizer; the input of a block is what the one before hands on; boundaries are as measured"},
            {"id": "parameters", "origin": "derived" if options.parameters is None else "assumed",
             "text": ("low confidence: " if options.parameters is None else "") + "parameters: " + counted},
            {"id": "state", "origin": "assumed", "text": "mixed precision with Adam, as Varuna trains"}],
        "training": STATE | {"source": "state"},
        "section_types": [
            {"name": f"block.{i}", "parameters": [{"tensor_degree": 1, "count": parameters[i]}],
             "parameter_source": "parameters", "measurements": measurements(blocks, i, options, parameters[i])}
            for i in range(len(blocks))],
        "sections": [{"name": f"block.{i}", "type": f"block.{i}"} for i in range(len(blocks))]}


def rising(points):
    """Ascending bytes, times that do not fall: the larger one holds from there on."""
    curve, longest = [], 0
    for size, time in sorted(points.items()):
        longest = max(longest, time)
        curve.append({"bytes": size, "time_ns": longest})
    return curve


def link_curve(path, key, element_size):
    points = {}
    for count, row in sorted_items(path, "the profile", read_pickle(path)):
        whole(path, "a number of elements", count, 1, MOST // element_size)
        time = dict_at(path, f"{count} elements", row).get(key, -1)
        if time != -1:  # not measured
            points[count * element_size] = microseconds(path, f"{count} elements: {key}", time)
    return rising(points)


def levels_of(folder, options):
    path = os.path.join(folder, "comm-profile")
    inside = link_curve(path, "send", options.element_size)
    between = link_curve(path, "long_send", options.element_size)
    levels = []
    if options.gpus_per_node > 1:
        levels.append({"name": "node", "devices": options.gpus_per_node, "curve": inside, "source": "links"})
    if options.nodes > 1:
        levels.append({"name": "network", "curve": between, "source": "links"})
    else:
        levels[-1].pop("devices", None)  # the last level joins all
    for level in levels:
        if not level["curve"]:
            key = "send" if level["name"] == "node" else "long_send"
            raise Refusal(f"{path}: no {key} was measured, which level '{level['name']}' needs",
                          "profile links between " + ("GPUs of a node" if key == "send" else "nodes"))
    return levels


def collectives_of(folder, parameters, options):
    """{P: [0.0, t for 2 replicas, t for 3, ..]}, of the parameters of the first of P equal stages."""
    path = os.path.join(folder, "allred-profile")
    if not os.path.exists(path):
        return []
    points = {}  # replicas -> bytes -> time
    for stages, times in sorted_items(path, "the profile", read_pickle(path)):
        whole(path, "a number of stages", stages, 1, len(parameters))
        if type(times) not in (list, tuple):
            raise Refusal(f"{path}: {stages} stages: expected a list of times, got {shown(times)}",
                          "give a profile as Varuna wrote it")
        size = sum(parameters[:len(parameters) // stages]) * options.element_size
        for index, time in enumerate(times[1:], start=2):
            if index <= options.nodes * options.gpus_per_node and size > 0:
                points.setdefault(index, {})[size] = microseconds(
                    path, f"{stages} stages: {index} replicas", time)
    return [{"kind": "all_reduce",
             "level": "node" if options.gpus_per_node >= count else "network",
             "participants": count, "curve": rising(of_count), "source": "reductions"}
            for count, of_count in sorted(points.items())]


def cluster_of(folder, parameters, options):
    sheet = "given to the converter; the reserve of 1.5 GiB is assumed"
    cluster = {
        "format": "penstock.cluster/1", "name": f"{options.nodes} x {options.gpus_per_node} {options.device}",
        "sources": [
            {"id": "given", "origin": "assumed", "text": sheet},
            {"id": "links", "origin": "derived",
             "text": f"low confidence: Varuna's transfers of {options.name}, with up to five messages queued, over host memory; "
                     f"{options.element_size} bytes per element"},
            {"id": "reductions", "origin": "derived",
             "text": f"low confidence: Varuna's all-reduces of {options.name}, contiguous ranks, start-up included; their bytes "
                     "follow from the parameters of the first stage"}],
        "device_types": [{"name": options.device, "memory_bytes": math.floor(options.memory_gib * 2 ** 30),
                          "reserve_bytes": RESERVE_BYTES,
                          "memory_bandwidth_bytes_per_s": options.memory_bandwidth_gb_per_s * 1e9, "source": "given"}],
        "node_types": [{"name": "node", "device_type": options.device, "devices": options.gpus_per_node}],
        "nodes": [{"node_type": "node", "count": options.nodes}],
        "levels": levels_of(folder, options) if options.nodes * options.gpus_per_node > 1 else []}
    collectives = collectives_of(folder, parameters, options)
    return cluster | ({"collectives": collectives} if collectives else {})


def write(path, value):
    text = json.dumps(value, indent=1) + "\n"
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Missing(f"{path}: cannot write this file: {error.strerror}", "name another file") from error


def at_least(kind, least, most=MOST):
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not math.isfinite(value) or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is no number from {least} to {most:g}")
        return value
    return read


def counts(text):
    return [at_least(int, 0)(part) for part in text.split(",")]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--name", help="of the model; default: that of the folder")
    parser.add_argument("--device", required=True, metavar="NAME", help="device type, as in cluster files")
    parser.add_argument("--date", default="", help="when it was measured, for the sources")
    parser.add_argument("--sequence-length", type=at_least(int, 0, 2 ** 30), default=0, metavar="S")
    parser.add_argument("--parameters", type=counts, metavar="N,..", help="of every block, or one for all; default: from memory")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the profile (- for stdout)")
    links = parser.add_argument_group("a cluster")
    links.add_argument("--cluster-out", metavar="FILE")
    links.add_argument("--element-size", type=at_least(int, 1, 16), metavar="BYTES")
    links.add_argument("--nodes", type=at_least(int, 1, 10 ** 6), metavar="N")
    links.add_argument("--gpus-per-node", type=at_least(int, 1, 1024), metavar="G")
    links.add_argument("--memory-gib", type=at_least(float, 2, 2 ** 20), metavar="X")
    links.add_argument("--memory-bandwidth-gb-per-s", type=at_least(float, 1, 10 ** 6), metavar="X")
    options = parser.parse_args(arguments)
    options.name = options.name or os.path.basename(os.path.normpath(options.folder))
    needed = ("element_size", "nodes", "gpus_per_node", "memory_gib", "memory_bandwidth_gb_per_s")
    missing = [name for name in needed if getattr(options, name) is None]
    if options.cluster_out and missing:
        parser.error("--cluster-out needs --" + missing[0].replace("_", "-"))
    if not options.cluster_out and len(missing) < len(needed):
        parser.error("what is for a cluster needs --cluster-out")
    return options


def main(arguments):
    options = parse(arguments)
    blocks = read_blocks(options.folder)
    parameters = parameters_of(blocks, options)
    profile = profile_of(blocks, parameters, options)
    cluster = cluster_of(options.folder, parameters, options) if options.cluster_out else None
    write(options.output, profile)
    if cluster:
        write(options.cluster_out, cluster)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Missing as missing_file:
        sys.exit(print(missing_file, file=sys.stderr) or 3)
    except Refusal as refusal:
        sys.exit(print(refusal, file=sys.stderr) or 2)
