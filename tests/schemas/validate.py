#!/usr/bin/python3
"""Validates the example files in data/ and the facts in trainers/ against the schemas in data/schemas.

Run from the repository root. Exits with 77 (ctest: skipped) when python3-jsonschema is missing.
"""

import glob
import json
import os
import re
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed: sudo apt-get install python3-jsonschema")
    sys.exit(77)

CHECKED = (
    ("data/profiles/*.json", "data/schemas/penstock.profile-1.schema.json"),
    ("data/clusters/*.json", "data/schemas/penstock.cluster-1.schema.json"),
    ("data/runs/*.json", "data/schemas/penstock.runs-1.schema.json"),
    ("data/batches/*.json", "data/schemas/penstock.batch-1.schema.json"),
    ("data/jobs/*.json", "data/schemas/penstock.job-1.schema.json"),
    ("data/multi/*.json", "data/schemas/penstock.jobs-1.schema.json"),
    ("data/devices/*.json", "data/schemas/penstock.device-1.schema.json"),
    ("data/efficiency/fitted.json", "data/schemas/penstock.efficiency-1.schema.json"),
    ("trainers/*/*.json", "data/schemas/penstock.trainer-1.schema.json"),
)
# A string, to be left as it is, or a comment. Line breaks stay, so that line numbers do.
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text):
    def keep(match):
        found = match.group()
        return found if found.startswith('"') else "\n" * found.count("\n")
    return STRING_OR_COMMENT.sub(keep, text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.loads(without_comments(file.read()))


def main():
    bad = 0
    for pattern, schema_path in CHECKED:
        if not os.path.exists(schema_path):
            print(f"{schema_path}: no such file (run this from the repository root)")
            bad += 1
            continue
        schema = read(schema_path)
        validator_type = jsonschema.validators.validator_for(schema)
        validator_type.check_schema(schema)
        validator = validator_type(schema)
        paths = sorted(glob.glob(pattern))
        if not paths:
            print(f"{pattern}: no such file")
            bad += 1
        for path in paths:
            errors = list(validator.iter_errors(read(path)))
            for error in errors[:10]:
                place = "/".join(str(part) for part in error.absolute_path)
                print(f"{path}: /{place}: {error.message[:300]}")
            print(f"{path}: {'refused' if errors else 'valid'}")
            bad += len(errors)
        # A schema that accepts anything would pass, too.
        if validator.is_valid({"format": "something else"}):
            print(f"{schema_path}: accepts an object that is no such file")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
