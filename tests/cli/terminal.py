#!/usr/bin/python3
"""Colour: what penstock prints in a terminal, in a pipe, and when it is told which.

    terminal.py PENSTOCK

In a terminal (a pseudo terminal here) headings and errors are coloured; without the escape sequences
what is printed is what a pipe gets, byte for byte.
"""

import os
import pty
import re
import subprocess
import sys

SCHEDULE = ["schedule", "1f1b", "-P", "2", "-M", "3", "--cost", "F=1ms,B=2ms", "--print"]
MISTAKE = ["schedule", "1f1c", "-P", "2", "-M", "3"]
ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")


def environment(variables):
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                                             "UBSAN_OPTIONS") if key in os.environ}
    return {**kept, "TERM": "xterm", **variables}


def in_pipe(program, arguments, variables):
    done = subprocess.run([program, *arguments], env=environment(variables), capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False)
    return done.stdout + done.stderr


def in_terminal(program, arguments, variables):
    """Both streams of the program, on a terminal; its CR LF as LF."""
    ours, its = pty.openpty()
    with subprocess.Popen([program, *arguments], env=environment(variables), stdout=its, stderr=its,
                          stdin=subprocess.DEVNULL) as process:
        os.close(its)
        output = b""
        while True:
            try:
                some = os.read(ours, 65536)
            except OSError:  # the other end is closed
                some = b""
            if not some:
                break
            output += some
        process.wait(timeout=60)
    os.close(ours)
    return output.replace(b"\r\n", b"\n")


def main():
    program = sys.argv[1]
    # Where, what the environment says, a flag, and whether there is colour.
    cases = (
        (in_terminal, {}, [], True),
        (in_terminal, {"NO_COLOR": "1"}, [], False),
        (in_terminal, {"NO_COLOR": ""}, [], True),
        (in_terminal, {"TERM": "dumb"}, [], False),
        (in_terminal, {"CLICOLOR": "0"}, [], False),
        (in_terminal, {}, ["--color=never"], False),
        (in_terminal, {"NO_COLOR": "1"}, ["--color=always"], True),
        (in_pipe, {}, [], False),
        (in_pipe, {"FORCE_COLOR": "1"}, [], True),
        (in_pipe, {"CLICOLOR_FORCE": "1"}, [], True),
        (in_pipe, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        (in_pipe, {"FORCE_COLOR": "1"}, ["--color", "never"], False),
        (in_pipe, {}, ["--color", "always"], True),
    )
    failures = 0
    for arguments in (SCHEDULE, MISTAKE):
        plain = in_pipe(program, arguments, {})
        if not plain:
            print(f"{arguments}: prints nothing")
            failures += 1
        for run, variables, flag, colored in cases:
            output = run(program, [*arguments, *flag], variables)
            if bool(ESCAPE.search(output)) != colored or ESCAPE.sub(b"", output) != plain:
                print(f"{arguments[1]} {run.__name__} {variables} {flag}: {output!r}")
                failures += 1
    # What programs read is never coloured.
    for arguments in ([*SCHEDULE[:-1], "--json"], [*SCHEDULE[:-1], "--format", "csv"], ["man"]):
        if ESCAPE.search(in_pipe(program, [*arguments, "--color=always"], {})):
            print(f"{arguments}: coloured")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
