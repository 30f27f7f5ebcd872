#!/usr/bin/python3
"""Runs the commands of golden files and compares what they print, to the byte.

    run_golden.py PROGRAM FILE.golden...

In a golden file a line that starts with "$ " holds arguments of the program, quoted as for a shell.
The lines below it are the exact output: stdout; then, when the exit code is not 0, stderr and a line
"exit N". What stands above the first command is for the reader. $TMP is an empty folder, the same
for all commands of a file. Commands run in the current directory, the repository root, one after
the other, with no environment to speak of.

UPDATE_GOLDEN=1 rewrites the files; then read the diff as a reviewer would.
"""

import difflib
import os
import shlex
import subprocess
import sys
import tempfile

TIMEOUT_S = 300
# Sanitizers and the loader may need these; the program must not depend on anything else.
KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")


def split(text):
    """The lines above the first command, and the lines that hold commands."""
    preamble, commands = [], []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            commands.append(line.rstrip("\n"))
        elif not commands:
            preamble.append(line)
    return "".join(preamble), commands


def run(program, command, tmp):
    """What a golden file says below `command`."""
    arguments = [a.replace("$TMP", tmp) for a in shlex.split(command[2:])]
    environment = {k: os.environ[k] for k in KEPT_ENVIRONMENT if k in os.environ}
    environment["LC_ALL"] = "C.UTF-8"
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          env=environment, timeout=TIMEOUT_S, check=False)
    output = done.stdout
    if done.returncode != 0:
        output += done.stderr
    text = output.decode("utf-8").replace(tmp, "$TMP")
    if text and not text.endswith("\n"):
        raise ValueError(f"{command}: the output does not end in a newline")
    if any(line.startswith("$ ") for line in text.splitlines()):
        raise ValueError(f"{command}: a line of the output starts with '$ ', like a command")
    if done.returncode != 0:
        text += f"exit {done.returncode}\n"
    return text


def check(program, path, update):
    """Whether the file says what the program prints."""
    with open(path, encoding="utf-8", newline="") as file:
        expected = file.read()
    actual, commands = split(expected)
    if not commands:
        print(f"{path}: no line starts with '$ '")
        return False
    with tempfile.TemporaryDirectory() as tmp:
        for command in commands:
            actual += command + "\n" + run(program, command, tmp)
    if actual == expected:
        return True
    if update:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(actual)
        print(f"{path}: rewritten")
        return True
    sys.stdout.writelines(difflib.unified_diff(
        expected.splitlines(keepends=True), actual.splitlines(keepends=True),
        f"{path} (expected)", "what penstock prints"))
    print(f"{path}: differs. If the change is meant: UPDATE_GOLDEN=1, run again, read the diff.")
    return False


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(sys.argv[1])
    update = os.environ.get("UPDATE_GOLDEN", "") not in ("", "0")
    same = True
    for path in sys.argv[2:]:
        try:
            same = check(program, path, update) and same
        except (ValueError, OSError, subprocess.TimeoutExpired) as problem:
            print(f"{path}: {problem}")
            same = False
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
