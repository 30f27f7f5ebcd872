#!/usr/bin/python3
"""Runs the commands that the documents show, and compares the output where they show it.

    run_docs.py [--measure] [--update] PROGRAM DOCUMENT.md...

Every line of a fenced block that starts with "penstock" is a command and must succeed. In a block
whose commands start with "$ penstock" the lines below a command are its output: each must be there,
in this order, with nothing in between, but a line "..." stands for any lines, and what follows the
last line needs no saying when that is "...". Where the exit code is not 0, a last line says "exit N".
--update rewrites outputs that are shown whole.

The commands of one document run one after the other in one folder, which has the repository's data/
and the files that examples like to name: profile.json and cluster.json (the quickstart's), other.json
(the same cluster), config.json (Llama-3-8B) and corpus.txt. A block without output that repeats
commands of earlier blocks only is not run again. Blocks that begin with `penstock profile` measure this machine, which takes minutes,
and hold it to the prediction, which takes a quiet one: they run with --measure only (the demo goes the
same way with a smaller model). Blocks that begin with one of the comments in ELSEWHERE need a job that
runs, or nodes, and are not run here: tests of their verbs have both.
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

TIMEOUT_S = 300
ELSEWHERE = ("# while a job runs", "# on every node", "# after a run", "# with a job file", "# with a plan")
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXAMPLES = {
    "profile.json": "data/profiles/gpt-6.7b.a100-40gb.json",
    "cluster.json": "data/clusters/a100-40gb-p4d-8x8.json",
    "config.json": "data/models/llama-3-8b.json",
    "other.json": "data/clusters/a100-40gb-p4d-8x8.json",
}


def commands_of(block):
    """Pairs of a command and the output shown below it: None where the block shows none."""
    lines, found, at = block.splitlines(), [], 0
    shows_output = any(line.startswith("$ penstock") for line in lines)
    prefix = "$ penstock" if shows_output else "penstock"
    while at < len(lines):
        if not lines[at].startswith(prefix):
            at += 1
            continue
        command = lines[at].removeprefix("$ ")
        while command.endswith("\\"):
            at += 1
            command = command[:-1] + lines[at].strip()
        at += 1
        first = at
        while shows_output and at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        found.append((command, lines[first:at] if shows_output else None))
    return found


def run(program, command, folder):
    """The output: stdout, and when the exit code is not 0, stderr and a line about the code."""
    arguments = shlex.split(command, comments=True)[1:]
    done = subprocess.run([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_S, text=True, check=False)
    output = done.stdout
    if done.returncode != 0:
        output += done.stderr + f"exit {done.returncode}\n"
    return done.returncode, output.splitlines()


def pieces_of(shown):
    """The runs of lines between lines of "..."."""
    pieces = [[]]
    for line in shown:
        if line == "...":
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces


def first_missing(shown, output):
    """The piece of `shown` that is not in the output where it should be, or None."""
    pieces, at = pieces_of(shown), 0
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        starts = [at] if number == 0 else range(at, len(output) - len(piece) + 1)
        for start in starts:
            end = start + len(piece)
            if output[start:end] == piece and (not last or not piece or end == len(output)):
                at = end
                break
        else:
            return piece
    return None


def prepare(folder):
    os.symlink(os.path.abspath("data"), os.path.join(folder, "data"))
    for name, source in EXAMPLES.items():
        shutil.copy(source, os.path.join(folder, name))
    with open(os.path.join(folder, "corpus.txt"), "w", encoding="utf-8") as corpus:
        for document in sorted(name for name in os.listdir("docs") if name.endswith(".md")):
            with open(os.path.join("docs", document), encoding="utf-8") as text:
                corpus.write(text.read())


def rewrite(document, shown, output):
    """Puts the output where the document shows another one whole."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    with open(document, "w", encoding="utf-8") as file:
        file.write(text.replace("\n".join(shown), "\n".join(output), 1))


def check(settings, document, seen):
    """How many commands ran, and what was wrong with them; those without output join `seen`."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        for block in FENCE.finditer(text):
            commands = commands_of(block.group(1))
            if block.group(1).startswith(ELSEWHERE):
                continue
            if not settings.measure and commands and commands[0][0].startswith("penstock profile"):
                continue
            if all(shown is None and command in seen for command, shown in commands):
                continue
            for command, shown in commands:
                count += 1
                code, output = run(settings.program, command, folder)
                if shown is None:
                    seen.add(command)
                    if code != 0:
                        wrong.append("\n".join([f"{document}: {command}", *output[-8:]]))
                    continue
                missing = first_missing(shown, output)
                if missing is not None and settings.update and "..." not in shown:
                    rewrite(document, shown, output)
                elif missing is not None:
                    difference = difflib.unified_diff(missing, output, "shown", "printed", n=1,
                                                      lineterm="")
                    wrong.append("\n".join([f"{document}: {command}", *difference]))
    return count, wrong


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--measure", action="store_true")
    options.add_argument("--update", action="store_true", help="rewrite outputs that are shown whole")
    options.add_argument("program", type=os.path.abspath)
    options.add_argument("documents", nargs="+")
    settings = options.parse_args()
    failed, seen = False, set()
    for document in settings.documents:
        count, wrong = check(settings, document, seen)
        print(f"{document}: {count} commands, {len(wrong)} wrong")
        for text in wrong:
            print(text)
        failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
