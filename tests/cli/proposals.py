#!/usr/bin/env python3
"""Usage: proposals.py PENSTOCK [TABLE...]. What answers propose can be pasted.

Runs every row of the tables of mistakes (or of lists of `COMMAND => ..`) and then what its help proposes: a whole
command, as it stands; "write --option value" in place of the option that was unknown. Neither may be refused for its
usage, unless for another thing that the row lacks. By hand: some searches take their time, and are stopped after a
few seconds, which shows that they were accepted. Run from the repository root."""
import os
import re
import shlex
import sys

from mistake_rows import answered, folder_of_mistakes, rows

PLACE = re.compile(r"\.\.\.|\.\.(?![\w.])|TARGET@V|\b(N|X|B|T|FILE|FOLDER|NAME|PLAN|MODEL|CLUSTER|TRAINER|TARGET|COMMAND"
                   r"|VERB|PROFILE|HOST|RUN|RUNS|JOB|OPTIONS|LIST|KEY|TEXT|LOG|CSV|BOOK|SHELL|SCHEDULE)\b")


def commands_in(text):
    """Whole commands: from "penstock VERB" to the end of the sentence or to a word of it."""
    for match in re.finditer(r"penstock ((?:plan|predict|compare|simulate|explain|schedule|check|validate|tell|trace|"
                             r"report|export|estimate|import|completions) [^;)]*)", text):
        words = []
        quoted = False
        for word in match.group(1).split(" "):
            is_prose = not quoted and re.fullmatch(r"[a-z]+[,:.]?|\(.*|-|[a-z']+", word) and words and len(words) > 1
            after_option = words and words[-1].startswith("-") and "=" not in words[-1]
            if is_prose and (not after_option or word in ("puts", "takes", "reads", "with", "plans", "names")):
                break
            words.append(word.rstrip(",:") if not quoted else word)
            quoted ^= word.count('"') % 2 == 1
        yield " ".join(words)


def with_option(command, unknown, fragment):
    """The row's command with `fragment` in place of the option `unknown` and its value."""
    words = shlex.split(command.replace("$", "\\$"))
    out = []
    skip = False
    done = False
    for i, word in enumerate(words):
        if skip:
            skip = False
            continue
        if word.split("=")[0] == unknown:
            has_value = "=" not in word and i + 1 < len(words) and not words[i + 1].startswith("-")
            skip = has_value and not os.path.exists(words[i + 1])
            if not done:
                out += shlex.split(fragment)
            done = True
        else:
            out.append(word)
    return shlex.join(out)


def run(penstock, command, folder):
    return answered(penstock, command, folder, 6) or (0, "")


def proposals(command, answer):
    for line in answer.split("\n"):
        if not line.startswith("help: "):
            continue
        for proposed in commands_in(line):
            if not PLACE.search(proposed):
                yield proposed, None
    unknown = re.match(r"error: unknown option '([^']+)'\nhelp: write ((?:--?[\w-]+(?: [^\s,;()]+)?)(?: --[\w-]+ "
                       r"[^\s,;()]+)*)", answer)
    if unknown and not PLACE.search(unknown.group(2)) and not unknown.group(2).endswith('"'):
        yield with_option(command, unknown.group(1), unknown.group(2)), unknown.group(2).split(" ")[0]


def main():
    penstock = os.path.abspath(sys.argv[1])
    tables = sys.argv[2:] or ["tests/cli/mistakes.txt", "tests/cli/manager_mistakes.txt"]
    total = wrong = 0
    with folder_of_mistakes(penstock) as folder:
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        seen = set()
        for table in tables:
            for _, command, _ in rows(table):
                code, answer = run(penstock, command, folder)
                if code not in (2, 3):
                    continue
                for proposed, option in proposals(command, answer):
                    if proposed in seen:
                        continue
                    seen.add(proposed)
                    total += 1
                    then, said = run(penstock, proposed, folder)
                    refused = then == 2 and "unknown option" in said if option is None else f"'{option}'" in said
                    refused = refused or (option is None and then == 2 and ": missing" not in said)
                    if refused or then == 70:
                        wrong += 1
                        print(f"{table}: penstock {command}\n  {answer.strip()}\n  -> penstock {proposed}\n"
                              f"  exit {then}: {said.strip()[:300]}")
    print(f"{total - wrong} of {total} proposals are taken")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
