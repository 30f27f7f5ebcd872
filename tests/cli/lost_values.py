#!/usr/bin/env python3
"""What of a mistaken command its answer loses. Runs every row of the tables of mistakes (or of lists of
`COMMAND => ..`) and looks for each value that was typed, operands, values of options and parts of KEY=VALUE lists, in the
whole commands that the answer proposes or in what its help says besides. A value that the error itself quotes is the
one that is wrong, and need not come back. By hand: what it prints is to be judged. Run from the repository root."""
import argparse
import os
import re
import shlex
import sys

from mistake_rows import answered, folder_of_mistakes, rows
from proposals import commands_in

# Of a question whose answer is no other question: where to write, how much to say.
ABOUT_OUTPUT = {"-v", "-q", "--verbose", "--quiet", "--jobs", "--debug"}
SWITCHES = {"true", "false", "on", "off", "yes", "no", "none", "auto", "all", "default", "1", "0", "help"}
UNITS = {"k": 1 << 10, "m": 1 << 20, "kib": 1 << 10}
# Names that are written in another way than they were typed; the others begin alike ("h100", "h100-sxm").
ALSO = {"interleaved": ["interleaved1f1b", "1f1binterleaved"], "zerobubble": ["zbh1", "zbh2", "zbv"], "bf16": ["bfloat16"],
        "fp16": ["float16"], "fp32": ["float32"], "fp8": ["float8"], "dualpipe": ["dualpipev"], "nemo": ["megatron"],
        "selective": ["attention"]}


def plain(word):
    return re.sub(r"[-_'\"]", "", word.lower())


def spellings(value):
    """In which a value may come back, without dashes and in small letters."""
    word = plain(value)
    found = {word}
    number = re.fullmatch(r"([\d.,]+)([a-z]+)?", word)
    if number and number[1].replace(",", "").replace(".", "", 1).isdigit():
        digits, unit = number[1].replace(",", ""), number[2] or ""
        found.add(digits)
        if unit in UNITS:
            found.add(f"{float(digits) * UNITS[unit]:.0f}")
            found.add(f"{float(digits) * 1000 ** (1 if unit == 'k' else 2):.0f}")
    for name, others in ALSO.items():
        if name in word or word in others:
            found.update([name, *others])
    return found


def values_of(command):
    """Operands behind the verb and values of options, taken apart where they are lists."""
    try:
        words = shlex.split(command)
    except ValueError:
        return
    previous = ""
    for at, word in enumerate(words):
        if at == 0 or word in ("|", "&&", ">", "2>"):
            previous = ""
            continue
        option, joined, value = word.partition("=")
        if word.startswith("-") and not re.fullmatch(r"-\d.*", word):
            previous = option
            if joined and option not in ABOUT_OUTPUT:
                yield from parts_of(option, value)
            continue
        if previous not in ABOUT_OUTPUT:
            yield from parts_of(previous, word)
        previous = ""


def parts_of(option, value):
    if os.sep in value or re.search(r"\.\w+$", value):
        yield option, value
        return
    for pair in re.split(r"[,\s]+", value):
        part = pair.rpartition("=")[2].strip("()[]{}")
        if part and part.lower() not in SWITCHES and re.search(r"\w", part):
            yield option, part


def is_said(value, text):
    words = re.findall(r"[a-z0-9.:/@+]+", text)
    for spelt in spellings(value):
        is_number = spelt.isdigit()
        if any(word.strip(".:") == spelt or (not is_number and word.startswith(spelt)) for word in words):
            return True
        if not is_number and spelt in text:
            return True
    return False


def lost_in(command, answer, strict):
    """Values that neither a command nor another help line has; nothing where no whole command is proposed."""
    error, _, helps = answer.partition("\n")
    commands = list(commands_in(helps))
    if not commands:
        return []
    said = " ; ".join(commands) + " " + " ".join(re.findall(r"left out above: .*", helps)) if strict else helps
    if "with what else you typed" in helps:
        return []
    said, error = plain(said), plain(error)
    return [(option, value) for option, value in values_of(command)
            if not is_said(value, said) and plain(value) not in error]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("penstock")
    parser.add_argument("tables", nargs="*", default=["tests/cli/mistakes.txt"])
    parser.add_argument("--strict", action="store_true", help="only what stands in a command counts, and 'left out'")
    asked = parser.parse_args()
    penstock = os.path.abspath(asked.penstock)
    total = lossy = values = 0
    with folder_of_mistakes(penstock) as folder:
        for table in asked.tables:
            for number, command, _ in rows(table):
                code, answer = answered(penstock, command, folder, 20) or (0, "")
                if code not in (2, 3):
                    continue
                total += 1
                lost = lost_in(command, answer, asked.strict)
                if not lost:
                    continue
                lossy += 1
                values += len(lost)
                print(f"{table}:{number}: penstock {command}\n  lost: "
                      + ", ".join(f"{option} {value}".strip() for option, value in lost)
                      + "\n    " + answer.strip().replace("\n", "\n    "))
    print(f"{lossy} of {total} answers lose {values} values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
