#!/usr/bin/env python3
"""A compiler launcher: compiles a group of sources (tools/source_groups.py) as one file.

    tools/compile_group.py COMPILER... -o OBJECT -c FILE

Where that fails, its members are compiled one by one and linked to the one object that the build expects: what two files
say of each other's names is no finding, and takes time only. Any other FILE is simply compiled.
"""

import os
import pathlib
import subprocess
import sys

import source_groups


def option(words, name):
    return words.index(name) + 1 if name in words else None


def one_by_one(words, group, wrong):
    """The members' objects as one; what the whole group said is shown only where its members are sound."""
    file, out, depends = words.index(str(group)), option(words, "-o"), option(words, "-MF")
    objects, needs = [], set()
    for number, member in enumerate(source_groups.members_of(group)):
        words[file] = str(member)
        one = list(words)
        one[out] = f"{words[out]}.{number}.o"
        objects.append(one[out])
        if depends:
            one[depends] = one[out] + ".d"
        if subprocess.run(one, check=False).returncode != 0:
            for path in objects[:-1]:
                os.remove(path)
            return 1
        if depends:
            text = pathlib.Path(one[depends]).read_text()
            needs.update(text.split(":", 1)[1].replace("\\\n", " ").split())
            os.remove(one[depends])
    print(f"{group} was compiled file by file, because as one:\n{wrong[:2000]}")
    if depends:
        pathlib.Path(words[depends]).write_text(f"{words[out]}: {group} {' '.join(sorted(needs))}\n")
    linked = subprocess.run(["ld", "-r", "-o", words[out], *objects], check=False)
    for path in objects:
        os.remove(path)
    return linked.returncode


def main():
    words = sys.argv[1:]
    source = option(words, "-c")
    group = pathlib.Path(words[source]) if source else None
    if group is None or not group.read_text(errors="replace").startswith(source_groups.FIRST_LINE):
        os.execvp(words[0], words)
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        sys.stderr.write(ran.stderr)
        return 0
    return one_by_one(words, group, ran.stderr)


if __name__ == "__main__":
    sys.exit(main())
