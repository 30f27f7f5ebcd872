#!/usr/bin/env python3
"""Usage: mistakes.py PENSTOCK [TABLE]. What the table (mistakes.txt) says of mistakes is what the program answers.

Run from the repository root."""
import os
import sys

from mistake_rows import answered, folder_of_mistakes, rows


def main():
    penstock = os.path.abspath(sys.argv[1])
    arguments = [word for word in sys.argv[2:] if word != "--no-searches"]
    table = os.path.join("tests/cli", arguments[0] if arguments else "mistakes.txt")
    wrong = total = 0
    with folder_of_mistakes(penstock) as folder:
        for number, command, answer in rows(table):
            exit_code, words = answer.split(" ", 1)
            # A plan that is looked for takes minutes under the sanitizers, where unit tests look for others.
            if "--no-searches" in sys.argv and command.startswith("plan ") and int(exit_code) < 2:
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
