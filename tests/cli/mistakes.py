#!/usr/bin/env python3
"""What the table (mistakes.txt) says of mistakes is what the program answers. Run from the repository root."""
import argparse
import os
import sys

from mistake_rows import answered, folder_of_mistakes, rows


def searches(command, exit_code):
    return command.split()[0] in ("plan", "compare") and exit_code < 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("penstock")
    parser.add_argument("table", nargs="?", default="mistakes.txt")
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="each Nth row, and none that searches: for the sanitizers, which make both slow")
    asked = parser.parse_args()
    penstock = os.path.abspath(asked.penstock)
    table = os.path.join("tests/cli", asked.table)
    wrong = total = 0
    with folder_of_mistakes(penstock) as folder:
        for at, (number, command, answer) in enumerate(rows(table)):
            exit_code, words = answer.split(" ", 1)
            if at % asked.every or (asked.every > 1 and searches(command, int(exit_code))):
                continue
            total += 1
            code, said = answered(penstock, command, folder, 120) or (None, "")
            text = " ".join(said.split())
            # "!together": not said.
            missing = [word for word in words.split("|")
                       if (" ".join(word.lstrip("!").split()) in text) == word.startswith("!")]
            if missing or code != int(exit_code):
                wrong += 1
                print(f"{table}:{number}: penstock {command}\n  exit {code}, "
                      f"expected {exit_code}; not said, or said with a !: {missing}\n  {text[:300]}")
    print(f"{total - wrong} of {total} answered as the table says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
