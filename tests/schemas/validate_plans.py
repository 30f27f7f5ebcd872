#!/usr/bin/python3
"""Validates plan files and a book of plans against the schemas in data/schemas: what PENSTOCK writes, of every kind of
decision that changes what they hold, and those that the tests write by hand.

    tests/schemas/validate_plans.py PENSTOCK

Run from the repository root. Exits with 77 (ctest: skipped) when python3-jsonschema is missing.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from validate import jsonschema, read

PROFILE = "data/profiles/opt-350m.json"
CLUSTER = "data/clusters/gh200-96gb-16x4.json"
MIXED = "data/clusters/a100-40gb-2x4-v100-16gb-4x4.json"
SCHEDULES = ("gpipe", "interleaved", "zb-auto", "zb-v", "dualpipe", "chimera")
ASKED = [
    ("plan", PROFILE, "--cluster", CLUSTER, "--gpus", "4", "--global-batch", "32", "--zero1", "on"),
    ("plan", PROFILE, "--cluster", CLUSTER, "--gpus", "4", "--global-batch", "32", "--pp", "4", "--optimizer",
     "post-validation"),
    ("plan", PROFILE, "--cluster", MIXED, "--global-batch", "96", "--pp", "2", "--schedule", "1f1b"),
    ("plan", "data/profiles/gpt-6.7b.a100-40gb.json", "--cluster", "data/clusters/a100-40gb-p4d-8x8.json", "--gpus", "16",
     "--global-batch", "64", "--schedule", "varuna"),
    ("plan", "data/models/llama-3-8b.json", "--device", "h100-sxm", "--gpus", "8", "--global-batch", "32", "--kernels",
     "eager", "--loss", "in-place"),
    ("predict", PROFILE, "--cluster", CLUSTER, "--layout", "PP=4", "--batch", "data/batches/eight-shapes.json"),
] + [("plan", PROFILE, "--cluster", CLUSTER, "--gpus", "4", "--global-batch", "16", "--pin", "PP=4", "--schedule", name)
     for name in SCHEDULES]
BOOK = ("plan", PROFILE, "--cluster", CLUSTER, "--gpus", "1..3", "--global-batch", "32", "--schedule", "1f1b")
TYPES = ("plan", "data/profiles/opt-350m.json", "--cluster", "data/clusters/a100-40gb-2x4-v100-16gb-4x4.json", "--gpus",
         "a100-40gb=4,v100-16gb=0..8:4", "--global-batch", "32", "--schedule", "1f1b")
WRITTEN_BY_HAND = ("tests/core/tiny_plan.h", "tests/core/slots_plan.h")


def validators():
    found = {}
    for name in ("plan-1", "plan-2", "book-1", "profile-1", "cluster-1"):
        schema = read(f"data/schemas/penstock.{name}.schema.json")
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        found[f"penstock.{name.replace('-', '/')}"] = kind(schema)
    return found


def refusals(by_format, plan):
    errors = by_format[plan["format"]].iter_errors(plan)
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in errors]


def planned(penstock, asked, folder):
    path = folder / "plan.json"
    subprocess.run([penstock, *asked, "-o", str(path)], check=True, stdout=subprocess.DEVNULL)
    return json.loads(path.read_text())


def main(penstock):
    by_format = validators()
    plans = []
    with tempfile.TemporaryDirectory() as folder:
        for asked in ASKED:
            plans.append((" ".join(asked), planned(penstock, asked, pathlib.Path(folder))))
    for path in WRITTEN_BY_HAND:
        for text in re.findall(r'R"\((\{.*?\})\)";', pathlib.Path(path).read_text(), re.DOTALL):
            plan = json.loads(text)
            if "format" in plan:
                plans.append((path, plan))
    bad = 0
    for name, plan in plans:
        wrong = refusals(by_format, plan)
        print(f"{name}: {'refused' if wrong else 'valid'}", *wrong[:10], sep="\n  ")
        bad += bool(wrong)
        # A schema that accepts anything would pass, too.
        for part in (plan, plan["plan"], plan["program"], plan["prices"]["stages"][0]):
            part["nobody_reads_this"] = 1
            if not refusals(by_format, plan):
                print(f"{name}: a key that nobody reads is accepted")
                bad += 1
            del part["nobody_reads_this"]
    with tempfile.TemporaryDirectory() as folder:
        books = [planned(penstock, asked, pathlib.Path(folder)) for asked in (BOOK, TYPES)]
    for part in (part for book in books for part in (book, book["profile"], book["cluster"])):
        wrong = refusals(by_format, part)
        print(f"book, {part['format']}: {'refused' if wrong else 'valid'}", *wrong[:10], sep="\n  ")
        bad += bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
