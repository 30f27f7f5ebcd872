#!/usr/bin/env python3
"""Regenerates the facts in trainers/*/*.json from the trainers' own code.

    tools/trainer_facts.py [--check] [--new FOLDER/VERSION=COMMIT] REPOSITORY=CLONE...

REPOSITORY is what a file of facts names as its source, NVIDIA/Megatron-LM or pytorch/torchtitan for
example, CLONE a clone of it, bare or not. Of every file whose source is given, the source's commit is
unpacked and its code is asked for the names: Megatron-LM's own parser is built and run; the
configuration classes of torchtitan and Megatron-Bridge, DeepSpeed's constants and the add_argument()
calls of scripts and forks are read without running them. What people wrote into the file (limits,
executor, renames) stays as it is, and each name that it uses must exist. Prints what differs and
writes it; with --check it only prints, and exits with 1 when anything differs.

--new makes the file of a further version: what people wrote is taken from the trainer's newest one,
for a person to judge. Needs git and Python 3.11 with typing_extensions, which Megatron-LM imports;
DeepSpeed imports distutils, which newer Pythons lack.
"""

import argparse
import ast
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import trainer_parsers

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ROOT / "trainers"
COLUMNS = 100


def unpacked(clone, commit, folder):
    """The Python files of a commit and its links, in a folder of their own."""
    path = pathlib.Path(folder) / commit.replace("/", "-")
    if path.exists():
        return path
    path.mkdir(parents=True)
    listed = subprocess.run(["git", "-C", clone, "ls-tree", "-r", "-z", commit], capture_output=True, text=True,
                            check=False)
    if listed.returncode != 0:
        sys.exit(f"{clone}: no commit {commit}")
    files = [line.split("\t", 1) for line in listed.stdout.split("\0")
             if line.endswith(".py") or line.startswith("120000")]
    with subprocess.Popen(["git", "-C", clone, "cat-file", "--batch"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as objects:
        for about, name in files:
            objects.stdin.write(about.split()[2].encode() + b"\n")
            objects.stdin.flush()
            size = int(objects.stdout.readline().split()[2])
            target = path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            content = objects.stdout.read(size)
            if about.startswith("120000"):
                target.symlink_to(content.decode())
            else:
                target.write_bytes(content)
            objects.stdout.read(1)
        objects.stdin.close()
    return path


def resolved(clone, commit):
    done = subprocess.run(["git", "-C", clone, "rev-parse", commit + "^{commit}"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{clone}: no commit {commit}")
    return done.stdout.strip()


# --- the text of a file

def names_text(names, indent):
    """Names in rows, as nobody reads one a line."""
    rows, row = [], ""
    for name in names:
        word = json.dumps(name)
        if row and indent + len(row) + len(word) + 3 > COLUMNS:
            rows.append(row + ",")
            row = ""
        row += (", " if row else "") + word
    rows.append(row)
    space = " " * indent
    return "[\n" + "\n".join(space + "  " + one for one in rows) + "\n" + space + "]"


def text_of(value, indent=0):
    plain = json.dumps(value, ensure_ascii=False)
    space = " " * indent
    if indent > 0 and indent + len(plain) <= COLUMNS + 18 or not isinstance(value, (dict, list)) or not value:
        return plain
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return names_text(value, indent)
    if isinstance(value, list):
        return "[\n" + ",\n".join(space + "  " + text_of(one, indent + 2) for one in value) + "\n" + space + "]"
    members = [f"{space}  {json.dumps(key)}: {text_of(one, indent + 2)}" for key, one in value.items()]
    return "{\n" + ",\n".join(members) + "\n" + space + "}"


# --- what each trainer's code says

def class_fields(path):
    """{class: {field: kind}} of the annotated classes of a file; a class within a class by its own name."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            found[node.name] = {item.target.id: ast.unparse(item.annotation) for item in node.body
                                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)}
    return found


def asked(trainer, root):
    """What the trainer's code answers, in a process of its own."""
    done = subprocess.run([sys.executable, str(ROOT / "tools/trainer_parsers.py"), trainer, str(root)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{trainer}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def megatron(root, facts, _):
    """The flags of its parser by what they take, and those that its own scripts add."""
    flags = asked("megatron", root)
    own = {name for names in flags.values() for name in names}
    if len(own) < 500:
        sys.exit(f"{root}: only {len(own)} flags; is this NVIDIA/Megatron-LM?")
    scripts = trainer_parsers.flags_of_scripts(root) - own - {"help"}
    return {"flags": flags, "script_flags": sorted(name for name in scripts if name.replace("_", "-") not in own)}


def megatron_forks(_, facts, clones):
    """Of every group the flags that Megatron-LM's parser and scripts lack; what older versions had says
    nothing of a fork."""
    with open(FACTS / "megatron" / (facts["beside"] + ".json"), encoding="utf-8") as file:
        newest = json.load(file)
    own = {name for names in newest["flags"].values() for name in names}
    known = own | set(newest["script_flags"]) | {"help"}
    groups, older = [], set()
    for group in facts["groups"]:
        found = set()
        for source in group["sources"]:
            clone = clones.get(source["repository"])
            if clone is None:
                return None
            for commit in source["commits"]:
                if "path" in source:
                    found |= trainer_parsers.flags_of_old_parser(clone, commit)
                else:
                    found |= trainer_parsers.flags_elsewhere(unpacked(clone, commit, clones[""]))
        found = {name for name in found if name and name.isascii() and " " not in name}
        found = {name for name in found - known - older if name.replace("_", "-") not in own}
        if group["name"].startswith("older"):
            older = found
        groups.append({**group, "flags": sorted(found)})
    return {"groups": groups}


def torchtitan(root, facts, _):
    """Keys of its tables: TABLE.KEY."""
    if facts["carrier"] == "toml":
        path = next(one for one in (root / "torchtitan/config/job_config.py", root / "torchtitan/config_manager.py")
                    if one.exists())
        classes = class_fields(path)
        tables = classes["JobConfig"]
        return {"keys": sorted(f"{table}.{key}" for table, name in tables.items() for key in classes.get(name, {}))}
    classes = {}
    for path in sorted((root / "torchtitan").rglob("*.py")):
        if "experiments" not in path.parts and "models" not in path.parts:
            for name, fields in class_fields(path).items():
                classes.setdefault(name, fields)
    tables = {"training": "TrainingConfig", "parallelism": "ParallelismConfig"}
    return {"keys": sorted(f"{table}.{key}" for table, name in tables.items() for key in classes[name])}


def deepspeed(root, facts, _):
    """Top-level keys: the constants that DeepSpeed's configuration is read by."""
    return {"keys": asked("deepspeed", root),
            "pipeline_keys": trainer_parsers.deepspeed_pipeline_keys(root)}


def bridge(root, facts, clones):
    """Nothing is made anew: each field that is read as a flag must be one of its configuration, or of the
    Megatron-LM that it names."""
    known = set()
    for repository in facts["core"]:
        if repository not in clones:
            sys.exit(f"Megatron-Bridge's configuration extends that of {repository}: give {repository}=CLONE, too")
    for folder in [root] + [unpacked(clones[repository], commit, clones[""])
                            for repository, commit in facts["core"].items()]:
        for path in sorted(folder.rglob("*.py")):
            if "tests" not in path.parts and "@dataclass" in path.read_text(encoding="utf-8", errors="replace"):
                for fields in class_fields(path).values():
                    known |= set(fields)
    # model.seq_length of the overrides is a field; --seq_length is a flag of its own scripts.
    paths = [one for one in list(facts["overrides"]) + facts["marks"] if not one.startswith("--")]
    flags = [one for one in list(facts["overrides"]) + facts["marks"] + [name for row in facts["gpus"] for name in row]
             if one.startswith("--")]
    own = trainer_parsers.flags_elsewhere(root)
    missing = sorted((set(facts["fields"]) | {one.rsplit(".", 1)[1] for one in paths}) - known)
    missing += sorted({one for one in flags if one[2:] not in own})
    if missing:
        sys.exit(f"Megatron-Bridge has no {', '.join(missing)}")
    return {}


READERS = {"megatron/forks": megatron_forks, "megatron": megatron, "torchtitan": torchtitan, "deepspeed": deepspeed,
           "megatron_bridge": bridge}


# --- comparing

def flat(value, path=""):
    if isinstance(value, dict):
        return {leaf for key, one in value.items() for leaf in flat(one, f"{path}/{key}")}
    if isinstance(value, list):
        return {leaf for one in value for leaf in flat(one, f"{path}/{one['name']}" if isinstance(one, dict)
                                                       and "name" in one else path)}
    return {f"{path}: {value}"}


def differences(old, new):
    before, after = flat(old), flat(new)
    return [f"- {one}" for one in sorted(before - after)] + [f"+ {one}" for one in sorted(after - before)]


def regenerated(path, facts, clones):
    """The facts with what the code says today; nothing when the code is not at hand."""
    place = path.relative_to(FACTS).with_suffix("").as_posix()
    read = READERS.get(place) or READERS.get(path.parent.name)
    source = facts.get("source")
    if read is None:
        return None
    root = None
    if isinstance(source, dict):
        clone = clones.get(source["repository"])
        if clone is None:
            return None
        root = unpacked(clone, source["commit"], clones[""])
    found = read(root, facts, clones)
    return None if found is None else {**facts, **found}


def begun(place, commit, clones):
    """A further version's file, from the newest one beside it."""
    path = FACTS / (place + ".json")
    beside = sorted((one for one in path.parent.glob("*.json") if one.stem[0].isdigit()),
                    key=lambda one: [int(number) for number in one.stem.split(".")])
    if path.exists() or not beside:
        sys.exit(f"{path}: it exists, or there is no version beside it")
    facts = json.loads(beside[-1].read_text(encoding="utf-8"))
    clone = clones.get(facts["source"]["repository"])
    if clone is None:
        sys.exit(f"{place}: name a clone of {facts['source']['repository']}")
    facts["source"]["commit"] = resolved(clone, commit)
    return path, facts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--new", metavar="FOLDER/VERSION=COMMIT")
    parser.add_argument("clones", nargs="+", metavar="REPOSITORY=CLONE")
    given = parser.parse_args()
    clones = dict(one.split("=", 1) for one in given.clones)
    warnings.simplefilter("ignore", SyntaxWarning)  # of the sources that are read
    differ, looked_at = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        clones[""] = folder
        files = [(path, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(FACTS.glob("*/*.json"))]
        if given.new:
            files = [begun(*given.new.split("=", 1), clones)]
        for path, facts in files:
            found = regenerated(path, facts, clones)
            if found is None:
                continue
            looked_at += 1
            lines = differences(facts, found)
            text = text_of(found) + "\n"
            is_same = path.exists() and path.read_text(encoding="utf-8") == text
            print(f"{path.relative_to(ROOT)}: " + ("as its source" if is_same else f"{len(lines)} differences"))
            for line in lines:
                print("  " + line)
            differ += not is_same
            if not given.check and not is_same:
                path.write_text(text, encoding="utf-8")
    if looked_at == 0:
        sys.exit("no file of facts has a source that was given")
    return 1 if given.check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
