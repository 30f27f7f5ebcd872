#!/usr/bin/env python3
"""Runs clang-tidy on what ships, and not again on a file that it found clean and that did not change.

    tools/tidy.py BUILD [--jobs 2] [--cache FOLDER] [--alone] [--commits N] [PREFIX...]

BUILD holds a compile_commands.json made for clang. A file is looked at when it lies in a folder that .clang-tidy's
HeaderFilterRegex names (so not tests, benches, fuzzers or what the build makes) and begins with one of the PREFIXes.

A clean file leaves a stamp, an empty file whose name is the hash of all that the answer depends on: the version of
clang-tidy, .clang-tidy, the flags, the file, every header of ours that it includes, directly or not, and all headers of
the system that any of our files reaches. So a stamp never has to be taken back, and clones share them. They lie
in $PENSTOCK_TIDY_CACHE or ~/.cache/penstock-tidy.

Most of the time goes into the standard library's headers. Files with the same flags are therefore looked at as one
(tools/source_groups.py). Where that one is not clean, or does not compile, it is divided, in the end into single files, and
only what these say is printed: grouping can cost time and never makes a finding. --alone groups nothing.

--commits N looks only at what changed in the last N commits and since, a file or the header of its name; at all files
where git does not know so many.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from source_groups import ROOT, Sources, all_in_one, grouped, members_of

TIDY = "clang-tidy-14"

# What clang-tidy 14 looks for in the main file only: such a file is looked at alone. Of 28 planted findings of 24 checks
# these were the two that a group lost.
ONLY_ALONE = re.compile(r"^[ \t]*(using [A-Za-z_:][\w:]*;|namespace \w+ = )", re.MULTILINE)


def flags_of(entry):
    """The flags of a compile command, without the compiler, the file and what is written."""
    words = shlex.split(entry["command"])[1:]
    flags, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-c", "-MF", "-MT", "-MQ"):
            skip = word != "-c"
        elif word not in ("-MD", "-MMD", entry["file"]) and not word.startswith("-fsanitize-ignorelist="):
            flags.append(word)
    return tuple(flags)


def folders_that_ship():
    found = re.search(r"HeaderFilterRegex: '/\(([^)]*)\)/'", (ROOT / ".clang-tidy").read_text())
    if not found:
        sys.exit(".clang-tidy: HeaderFilterRegex is not '/(FOLDER|FOLDER...)/', from which tools/tidy.py takes what ships")
    return found.group(1).split("|")


def what_ships(build, prefixes):
    """File (relative to the root) -> flags."""
    path = build / "compile_commands.json"
    if not path.is_file():
        sys.exit(f"{path}: no such file: configure first, for example with cmake --preset dev")
    folders, files = folders_that_ship(), {}
    for entry in json.loads(path.read_text()):
        for file in members_of(pathlib.Path(entry["file"])):
            if not file.is_relative_to(ROOT):
                continue
            name = str(file.relative_to(ROOT))
            if name.split("/")[0] in folders and (not prefixes or name.startswith(tuple(prefixes))):
                files.setdefault(name, flags_of(entry))
    return dict(sorted(files.items()))


def system_hash(sources, files, flags):
    """One hash of the contents of all system headers that are reached from `files`."""
    names = sorted({name for path in files for part in sources.closure(path) for name in sources.includes[part][1]})
    folders = []
    for one in sorted(set(flags)):
        for at, flag in enumerate(one):
            if flag == "-isystem" and one[at + 1] not in folders:
                folders.append(one[at + 1])
    text = "".join(f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in names)
    command = ["clang++-14", "-std=c++20", "-M", "-x", "c++", "-"]
    for folder in folders:
        command[1:1] = ["-isystem", folder]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    if ran.returncode != 0:
        sys.exit(f"the system's headers cannot be listed:\n{ran.stderr}")
    digest = hashlib.sha256()
    for header in sorted(set(ran.stdout.replace("\\\n", " ").split(":", 1)[1].split())):
        if os.path.isabs(header):
            digest.update(header.encode() + b"\0" + pathlib.Path(header).read_bytes())
    return digest.hexdigest()


def tidy(path, flags):
    """Whether clang-tidy found nothing, and what it printed."""
    ran = subprocess.run([TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy", str(path), "--", *flags],
                         capture_output=True, text=True, cwd=ROOT, check=False)
    return ran.returncode == 0, ran.stdout + (ran.stderr if ran.returncode != 0 and not ran.stdout else "")


def of_last_commits(files, commits):
    """Those that changed, or whose header did."""
    command = ["git", "diff", "--name-only", f"HEAD~{commits}"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if asked.returncode != 0:
        return files
    changed = set(asked.stdout.split())
    return {path: flags for path, flags in files.items()
            if path in changed or path.removesuffix(".cc") + ".h" in changed}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("prefixes", nargs="*", metavar="PREFIX")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--cache", type=pathlib.Path,
                         default=os.environ.get("PENSTOCK_TIDY_CACHE", pathlib.Path.home() / ".cache/penstock-tidy"))
    options.add_argument("--alone", action="store_true", help="group nothing")
    options.add_argument("--commits", type=int, help="only what changed in so many commits")
    given = options.parse_intermixed_args()

    sources = Sources()
    files = what_ships(given.build, given.prefixes)
    if not files:
        sys.exit(f"{given.build}: no file that ships is compiled there")
    if given.commits:
        files = of_last_commits(files, given.commits)
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    common = hashlib.sha256((version + (ROOT / ".clang-tidy").read_text() +
                             system_hash(sources, files, files.values())).encode()).hexdigest()

    def stamp(path):
        digest = hashlib.sha256((common + repr(files[path])).replace(str(ROOT), "ROOT").encode())
        for part in sources.closure(path):
            digest.update(part.encode() + b"\0" + sources.text(part).encode() + b"\0")
        return given.cache / digest.hexdigest()

    given.cache.mkdir(parents=True, exist_ok=True)
    changed = {path: flags for path, flags in files.items() if not stamp(path).exists()}
    groups = grouped(changed, sources, lambda path: given.alone or ONLY_ALONE.search(sources.text(path)), True)
    divided, unclean = [], []

    def look(members, flags):
        with contextlib.ExitStack() as stack:
            path = members[0]
            if len(members) > 1:
                together = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".cc", dir=given.cache))
                together.write(all_in_one(members, sources, True))
                together.flush()
                path = together.name
            clean, said = tidy(path, (*flags, "-Wno-shadow") if len(members) > 1 else flags)
        if clean:
            for member in members:
                stamp(member).touch()
        elif len(members) > 1:
            divided.append(path)
            look(members[:len(members) // 2], flags)
            look(members[len(members) // 2:], flags)
        else:
            unclean.append(path)
            print(said, flush=True)

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as threads:
        for _ in threads.map(lambda group: look(group["files"], group["flags"]), groups):
            pass
    print(f"clang-tidy: {len(files)} files, {len(files) - len(changed)} of them clean before and unchanged, {len(changed)} looked at "
          f"in {len(groups)} groups ({len(divided)} of them divided), {len(unclean)} with findings")
    for path in sorted(unclean):
        print(f"  {path}")
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
