#!/usr/bin/env python3
"""Validates exported sky.yaml files with SkyPilot's own schema.

    sky_files.py SKYPILOT FOLDER...

SKYPILOT is a clone of skypilot-org/skypilot; every sky.yaml in the folders is judged by the schemas of
a task and of its resources, sky/utils/schemas.py, and by its validator, sky/utils/validator.py. SkyPilot
need not be installed: what the first file imports of it is stood in for, since only two functions are
called. Needs python3-jsonschema and python3-yaml. Exit code 1 when a file is refused, or when there is
none.
"""

import importlib.util
import os
import sys
import types

import yaml


class StandIn(types.ModuleType):
    """A module of SkyPilot that is imported for constants: patterns and names of clouds."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name.startswith("ENV_VAR_"):  # asked of the environment, where it must not be set
            return "PENSTOCK_STAND_IN_" + name
        return ["kubernetes"] if name == "ALL_CLOUDS" else StandIn(name)

    def __call__(self, *arguments, **named):
        return []

    def __iter__(self):
        return iter(())


class Finder:
    """Everything below the package sky, but the schemas."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] != "sky":
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def module_of(clone, name):
    path = os.path.join(clone, "sky", "utils", name + ".py")
    spec = importlib.util.spec_from_file_location(name + "_of_skypilot", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def validators_of(clone):
    """Of a task and of its resources."""
    sys.meta_path.insert(0, Finder())
    module = module_of(clone, "schemas")
    # The member config:, which no exported file has; its schema needs SkyPilot's own configuration.
    module._task_config_schema = lambda: {"not": {}}
    task = module.get_task_schema()
    for required in ("name", "num_nodes", "run", "setup", "workdir"):  # else the stand-ins lie
        if required not in task["properties"]:
            sys.exit(f"{clone}: its task schema has no {required}")
    validator = module_of(clone, "validator").SchemaValidator
    return validator(task), validator(module.get_resources_schema())


def complaints(path, task_validator, resources_validator):
    with open(path, encoding="utf-8") as file:
        task = yaml.safe_load(file)
    found = []
    for place, value, validator in (("task", task, task_validator),
                                    ("resources", task.get("resources", {}), resources_validator)):
        found += [f"{place}: {error.message}" for error in validator.iter_errors(value)]
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    validators = validators_of(sys.argv[1])
    files = sorted(os.path.join(root, name) for folder in sys.argv[2:]
                   for root, _, names in os.walk(folder) for name in names if name == "sky.yaml")
    refused = 0
    for path in files:
        found = complaints(path, *validators)
        refused += bool(found)
        for message in found:
            print(f"{path}: {message}")
    print(f"{len(files) - refused} of {len(files)} sky.yaml files accepted")
    return 1 if refused or not files else 0


if __name__ == "__main__":
    sys.exit(main())
