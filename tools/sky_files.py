#!/usr/bin/env python3
"""Validates exported sky.yaml files with SkyPilot's own schema.

    sky_files.py SKYPILOT FOLDER...

SKYPILOT is a clone of skypilot-org/skypilot; every sky.yaml in the folders is judged by the schemas of
a task and of its resources, sky/utils/schemas.py. SkyPilot need not be installed: what that file
imports of it is stood in for, since only the two functions are called. Needs python3-jsonschema and
python3-yaml. Exit code 1 when a file is refused, or when there is none.
"""

import importlib.util
import os
import sys
import types

import jsonschema
import yaml


class StandIn(types.ModuleType):
    """A module of SkyPilot that is imported for constants: patterns and names of clouds."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
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


def schemas_of(clone):
    sys.meta_path.insert(0, Finder())
    path = os.path.join(clone, "sky", "utils", "schemas.py")
    spec = importlib.util.spec_from_file_location("schemas_of_skypilot", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # The member config:, which no exported file has; its schema needs SkyPilot's own configuration.
    module._task_config_schema = lambda: {"not": {}}
    return module.get_task_schema(), module.get_resources_schema()


def complaints(path, task_schema, resources_schema):
    with open(path, encoding="utf-8") as file:
        task = yaml.safe_load(file)
    found = []
    for place, value, schema in (("task", task, task_schema),
                                 ("resources", task.get("resources", {}), resources_schema)):
        validator = jsonschema.validators.validator_for(schema)(schema)
        found += [f"{place}: {error.message}" for error in validator.iter_errors(value)]
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    task_schema, resources_schema = schemas_of(sys.argv[1])
    for required in ("name", "num_nodes", "run", "setup", "workdir"):  # else the stand-ins lie
        if required not in task_schema["properties"]:
            sys.exit(f"{sys.argv[1]}: its task schema has no {required}")
    files = sorted(os.path.join(root, name) for folder in sys.argv[2:]
                   for root, _, names in os.walk(folder) for name in names if name == "sky.yaml")
    refused = 0
    for path in files:
        found = complaints(path, task_schema, resources_schema)
        refused += bool(found)
        for message in found:
            print(f"{path}: {message}")
    print(f"{len(files) - refused} of {len(files)} sky.yaml files accepted")
    return 1 if refused or not files else 0


if __name__ == "__main__":
    sys.exit(main())
