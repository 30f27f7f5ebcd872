"""How tools/trainer_facts.py asks the trainers' own code for the names that it knows.

Megatron-LM's parser is built, and DeepSpeed's configuration is read with a dictionary that writes down
what it is asked for; stand_ins.py replaces torch and whatever else is not installed. Each runs in a
process of its own (`trainer_parsers.py TRAINER FOLDER`). The rest is read from source text.
"""

import argparse
import ast
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import warnings

import stand_ins
from trainer_code import PACKAGES, bare


def kind_of(action):
    """What a flag of argparse takes."""
    if action.nargs == 0:
        return "nothing"
    if action.nargs in ("+", "*"):
        return "list"
    return {int: "integer", float: "number"}.get(action.type, "text")


def flags_of_parser(checkout):
    """{what it takes: [flags]} of Megatron-LM's own parser."""
    sys.path.insert(0, checkout)
    arguments = importlib.import_module("megatron.training.arguments")
    parser = argparse.ArgumentParser(allow_abbrev=False)
    arguments.add_megatron_arguments(parser)
    kinds = {}
    for action in parser._actions:
        for option in action.option_strings:
            if option.startswith("--") and option != "--help":
                kinds.setdefault(kind_of(action), set()).add(option[2:])
    return {kind: sorted(kinds[kind]) for kind in sorted(kinds)}


def flags_of_old_parser(clone, commit):
    """The add_argument() calls of the arguments.py of a commit."""
    found = set()
    for path in ("megatron/arguments.py", "megatron/training/arguments.py"):
        done = subprocess.run(["git", "-C", clone, "show", f"{commit}:{path}"], capture_output=True, text=True,
                              check=False)
        if done.returncode == 0:
            found |= flags_in_text(done.stdout)
    return found


def flags_in_source(path):
    return flags_in_text(path.read_text(encoding="utf-8", errors="replace"))


def flags_in_text(text):
    """The flags of add_argument("--flag", ..) calls."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found = set()
    for node in ast.walk(tree):
        is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not is_call or node.func.attr != "add_argument":
            continue
        for word in node.args:
            if isinstance(word, ast.Constant) and str(word.value).startswith("--"):
                found.add(word.value[2:])
    return found


def flags_of_scripts(checkout):
    """What the scripts that call the parser add to it: those that name an extra_args_provider, and the
    files of arguments beside them."""
    found = set()
    for path in sorted(checkout.rglob("*.py")):
        place = path.relative_to(checkout).as_posix()
        if place.startswith("tests/unit_tests") or place == "megatron/training/arguments.py":
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if "add_argument" in text and ("extra_args_provider" in text or "parser.add_argument_group" in text
                                       or path.name == "arguments.py"):
            found |= flags_in_source(path)
    return found


def flags_elsewhere(folder):
    """All add_argument() calls of a fork, or of a folder of older parsers."""
    return set().union(*(flags_in_source(path) for path in sorted(folder.rglob("*.py"))
                         if "add_argument" in path.read_text(encoding="utf-8", errors="replace")))


class Asked(dict):
    """Writes down which keys it was asked for; so do its copies."""

    def __init__(self, values, keys):
        super().__init__(values)
        self.asked = keys

    def __contains__(self, key):
        self.asked.add(key)
        return super().__contains__(key)

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key, otherwise=None):
        self.asked.add(key)
        return super().get(key, otherwise)

    def keys(self):
        return self

    def __copy__(self):
        return Asked(self, self.asked)


def keys_of_initialize(path):
    """What deepspeed.initialize() asks of the configuration itself: "key" in config, config["key"], config.get()."""
    found = set()
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        key, place = None, None
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            key, place = node.left, node.comparators[0]
        elif isinstance(node, ast.Subscript):
            key, place = node.slice, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            key, place = node.args[0] if node.args else None, node.func.value
        if isinstance(key, ast.Constant) and isinstance(place, ast.Name) and place.id == "config":
            found.add(key.value)
    return found


def deepspeed_keys(checkout):
    """The top-level keys that DeepSpeed's configuration asks for, also those that only follow from others."""
    sys.path.insert(0, checkout)
    os.environ.update(DS_ACCELERATOR="cpu", LOCAL_RANK="0")
    for name in ("deepspeed", "deepspeed.ops", "deepspeed.module_inject"):
        bare(name, checkout)  # without what compiles kernels
    from deepspeed import comm
    from deepspeed.runtime.config import DeepSpeedConfig
    comm.is_initialized = lambda: True
    comm.get_world_size = lambda group=None: 1
    comm.get_rank = lambda group=None: 0
    keys = set()
    batch = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1}
    DeepSpeedConfig(Asked(batch, keys))
    for extra in ({"optimizer": {"type": "Adam", "params": {}}, "scheduler": {"type": "WarmupLR", "params": {}}},
                  {"compression_training": {"weight_quantization": {
                      "shared_parameters": {"enabled": True},
                      "different_groups": {"all": {"params": {"start_bits": 8, "target_bits": 8}, "modules": ["*"]}}}}},
                  {"compression_training": {"shared_parameters": {"enabled": True}}}, {"bf16": {"enabled": True}}):
        with contextlib.suppress(Exception):  # what they ask for until they miss something counts
            DeepSpeedConfig(Asked({**batch, **extra}, keys))
    keys |= keys_of_initialize(os.path.join(checkout, "deepspeed", "__init__.py"))
    return sorted(key for key in keys if isinstance(key, str) and key.isidentifier())


def deepspeed_pipeline_keys(root):
    """The keys that get_pipeline_config() has defaults for, and those that the engine asks for."""
    source = (root / "deepspeed/runtime/config.py").read_text(encoding="utf-8")
    function = next(node for node in ast.walk(ast.parse(source))
                    if isinstance(node, ast.FunctionDef) and node.name == "get_pipeline_config")
    defaults = {key.value for node in ast.walk(function) if isinstance(node, ast.Dict) for key in node.keys
                if isinstance(key, ast.Constant)}
    engine = (root / "deepspeed/runtime/pipe/engine.py").read_text(encoding="utf-8")
    return sorted({node.slice.value for node in ast.walk(ast.parse(engine))
                   if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
                   and "pipeline" in ast.unparse(node.value)} | ({key for key in defaults if f"['{key}']" in engine}))


def main():
    warnings.simplefilter("ignore")
    stand_ins.stand_in_for(PACKAGES)
    ask = {"megatron": flags_of_parser, "deepspeed": deepspeed_keys}[sys.argv[1]]
    with contextlib.redirect_stdout(io.StringIO()):
        found = ask(sys.argv[2])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
