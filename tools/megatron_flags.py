#!/usr/bin/env python3
"""Writes the table of Megatron-LM's flags that `penstock check` knows.

    tools/megatron_flags.py CHECKOUT COMMIT [NAME=FOLDER]... > report/trainers/lint/megatron_flag_names.cc

CHECKOUT is a checkout of NVIDIA/Megatron-LM, COMMIT its name for the table's first line. The
checkout's own parser is built: torch and whatever else is not installed is replaced by a stub, since
nothing but names is asked of it. Flags that its training scripts add to the parser are taken from
their add_argument() calls, without running them; so are those of every FOLDER, a checkout of a fork
that goes by NAME, or a folder of older versions' arguments.py ("older Megatron-LM"). Needs Python
3.12 or newer and nothing else.
"""

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import inspect
import pathlib
import sys
import types
import typing


# What the parser cannot be imported without; the rest it tries, and does without.
STUBBED = {"torch", "numpy", "packaging", "yaml", "tqdm", "einops", "triton", "typing_extensions", "transformers",
           "PIL", "requests", "pydantic"}


class AnyClass(type(typing.Protocol)):
    def __getattr__(cls, name):
        if name.startswith("__") or name.startswith("_is_") or name == "_abc_impl":
            raise AttributeError(name)
        return Anything()

    def __or__(cls, other):
        return object

    __ror__ = __or__


class Anything(metaclass=AnyClass):
    """Stands for whatever a missing package offers: a class, a function, a decorator, a value."""

    def __init__(self, *args, **kwargs):
        pass

    def __init_subclass__(cls, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        # A decorator hands back what it decorates.
        plain = len(args) == 1 and not kwargs and (inspect.isfunction(args[0]) or inspect.isclass(args[0]))
        return args[0] if plain else Anything()

    def __getattr__(self, name):
        if name.startswith("__") or name.startswith("_is_") or name == "_abc_impl":
            raise AttributeError(name)
        return Anything()

    def __class_getitem__(cls, item):
        return cls

    def __getitem__(self, item):
        return Anything()

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())

    def __or__(self, other):
        return object

    __ror__ = __or__

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__


class StubModule(types.ModuleType):
    __version__ = "99.0"
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__") or name.startswith("_is_") or name == "_abc_impl":
            raise AttributeError(name)
        # Names in capitals are classes that may be derived from.
        made = AnyClass(name, (Anything,), {}) if name[:1].isupper() else Anything()
        setattr(self, name, made)
        return made


class StubFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last, when nobody else finds the package."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in STUBBED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StubModule(spec.name)

    def exec_module(self, module):
        pass


def flags_of_parser(checkout):
    sys.path.insert(0, str(checkout))
    sys.meta_path.append(StubFinder())
    arguments = importlib.import_module("megatron.training.arguments")
    parser = argparse.ArgumentParser(allow_abbrev=False)
    arguments.add_megatron_arguments(parser)
    options = {option for action in parser._actions for option in action.option_strings}
    return {option[2:] for option in options if option.startswith("--")} - {"help"}


def flags_in_source(path):
    """The flags of add_argument("--flag", ..) calls."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
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


def rows(names):
    row = ""
    for name in sorted(names):
        if row and len(row) + 1 + len(name) > 100:
            yield row
            row = ""
        row += (" " if row else "") + name
    yield row


def text_of(names):
    return 'R"(\n' + "\n".join(rows(names)) + '\n)"'


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    checkout, commit = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    own = flags_of_parser(checkout)
    if len(own) < 500:
        sys.exit(f"{checkout}: only {len(own)} flags; is this NVIDIA/Megatron-LM?")
    known = own | {"help"}
    groups = [("its own scripts", flags_of_scripts(checkout) - known)]
    known |= groups[0][1]
    version = {}
    exec((checkout / "megatron/core/package_info.py").read_text().split("# Use")[0], version)
    for argument in sys.argv[3:]:
        name, folder = argument.split("=", 1)
        groups.append((name, {flag for flag in flags_elsewhere(pathlib.Path(folder))
                              if flag and flag.isascii() and " " not in flag} - known))
    # Flags that differ by underscores alone are slips where Megatron-LM has them with dashes.
    groups = [(name, {flag for flag in flags if flag.replace("_", "-") not in own})
              for name, flags in groups]
    # What older versions had says nothing of a fork.
    for name, flags in groups[1:]:
        if name.startswith("older"):
            known |= flags
    groups = [(name, flags if name == "its own scripts" or name.startswith("older") else flags - known)
              for name, flags in groups]
    print(f"""// Made by tools/megatron_flags.py; not to be edited by hand. From NVIDIA/Megatron-LM {commit}, core
// {version['MAJOR']}.{version['MINOR']}.{version['PATCH']}: {len(own)} flags of its parser. The other groups have what it has not.
#include "report/trainers/lint/megatron_flags.h"

#include <array>

namespace penstock {{
namespace {{

constexpr std::array kGroups{{""")
    for name, flags in groups:
        print(f'    MegatronFlagGroup{{"{name}", {text_of(flags)}}},')
    print("""};

}  // namespace

std::string_view megatron_flag_names() {
  return """ + text_of(own) + """;
}

std::span<const MegatronFlagGroup> megatron_flag_groups() { return kGroups; }

}  // namespace penstock""")


if __name__ == "__main__":
    main()
