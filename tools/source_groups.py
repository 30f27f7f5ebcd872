#!/usr/bin/env python3
"""Groups of source files that can be compiled, or looked at, as one.

Most of the time that a file takes goes into the standard library's headers. Files with the same flags are therefore
included, several at a time, by one file in their place. A name in an unnamed namespace, or a static one, that means
something else in another file of the group gets the file's number, by a macro; two files meet only where that can be
done. tools/tidy.py and CMake use it:

    tools/source_groups.py FOLDER <SOURCES

Standard input has one line per file of a build: "TARGET FILE", of every target whose files may be grouped, with "alone "
before those that have flags of their own. Group files
are written to FOLDER, and what CMake should include is printed: the targets' sources with groups in the place of their
members. tools/compile_group.py compiles a group, and its members one by one where they cannot be one file after all.
"""

import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_IN_A_GROUP = 12
FIRST_LINE = "// Sources that are compiled as one, by tools/source_groups.py."
# A constant of one file may hide behind a variable of the next; and a type of an unnamed namespace is not in a header
# because it comes from an #include.
HEAD = f'''{FIRST_LINE}
#pragma GCC diagnostic ignored "-Wshadow"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
'''

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# At the left margin, as clang-format puts what stands in a namespace: the name before ( { = [ ; or a base class, and not
# the template of a type before <.
DECLARED = re.compile(r"(?:^|[ *&])([A-Za-z_]\w*)(?=[({=\[;]| =| \{| :)")
TYPE = re.compile(r"^(?:struct|class|enum class|union) (\w+)\b(?!;)", re.MULTILINE)
LIBTORCH = re.compile(r"(torch|ATen|c10|c10d|gloo)/")
# Lines at the margin that declare no name of their own.
NO_NAMES = ("TEST_CASE", "template <", "namespace ", "static_assert", "extern ")


class Sources:
    """Files of ours, each read once."""

    def __init__(self):
        self.texts = {}
        self.includes = {}
        self.reached = {}
        self.said = {}

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = (ROOT / path).read_text()
            ours, system = [], []
            for quote, name in INCLUDE.findall(self.texts[path]):
                (ours if quote == '"' else system).append(name)
            self.includes[path] = ([name for name in ours if (ROOT / name).is_file()], system)
        return self.texts[path]

    def words(self, path):
        if path not in self.said:
            self.said[path] = set(re.findall(r"\w+", self.text(path)))
        return self.said[path]

    def closure(self, path):
        """The file and every header of ours that it includes, sorted."""
        if path not in self.reached:
            seen, waiting = set(), [path]
            while waiting:
                one = waiting.pop()
                if one not in seen:
                    seen.add(one)
                    self.text(one)
                    waiting.extend(self.includes[one][0])
            self.reached[path] = sorted(seen)
        return self.reached[path]


def local_names(text):
    """Names that may clash when two files are one: those of unnamed namespaces and static ones; and those of others that
    a using-declaration brings, which clash with the former only."""
    names, used, depth = set(), set(), 0
    for line in text.splitlines():
        if line.startswith("namespace {"):
            depth = 1
        elif line.startswith("}  // namespace") and line.strip() == "}  // namespace":
            depth = 0
        elif depth and line.startswith("   "):
            # A declaration may go on over several lines; constants of functions do no harm here.
            names.update(re.findall(r"\b(k[A-Z]\w*) = ", line))
        elif line.startswith("using ") and "=" not in line:
            used.update(DECLARED.findall(line.replace("::", " ")))
        elif (depth or line.startswith(("static ", "using "))) and line and line[0] not in " }#/":
            if not line.startswith(NO_NAMES):
                # The first one: what stands behind it are parameters and values.
                names.update((TYPE.findall(line) or DECLARED.findall(line))[:1])
    return names, used


def declared_in(text):
    """Names of a header's functions, types and values."""
    lines = (line for line in text.splitlines() if line and line[0] not in " }#/" and not line.startswith(NO_NAMES))
    return {name for line in lines for name in (TYPE.findall(line) or DECLARED.findall(line))[:1]}


def names_of(path, sources):
    """The names of a file that may clash, and where those come from that it uses: name -> headers, or nothing where a
    using-declaration brings it. Of headers, types; of those of tests, whose names are short, all."""
    names, used = local_names(sources.text(path))
    origins = {name: set() for name in used}
    for header in sources.closure(path):
        if not header.endswith(".h"):
            continue
        declared = declared_in if header.startswith("tests/") else TYPE.findall
        for name in declared(sources.text(header)):
            origins.setdefault(name, set()).add(header)
    return names, origins


def clashing(one, other):
    """Names of one file or group that mean something else in another."""
    (names, used), (others, others_used) = one, other
    differ = {name for name in used.keys() & others_used.keys()
              if used[name] and others_used[name] and not used[name] & others_used[name]}
    return names & (others | others_used.keys()) | used.keys() & others | differ


def is_constant(name):
    return re.match(r"k[A-Z]", name) is not None


def renamable(path, sources):
    """The local names of a file that a macro may replace: no header that it includes says them, and the file does not
    say them of another name's members either. Of a file that defines macros of its own, constants only."""
    text = sources.text(path)
    names = {name for name in local_names(text)[0] if not is_constant(name)}
    if "#define" in text:
        return set()
    for header in sources.closure(path):
        if header.endswith(".h"):
            names -= sources.words(header)
    return names - set(re.findall(r"(?:\.|->|::) ?~?(\w+)", text))


def all_in_one(members, sources, only_constants=False):
    """The text that includes all of them. Local names that are said elsewhere get the file's number; so that the macros
    for that meet none of the system's headers, these come first."""
    text, seen, meets_system = "", set(), False
    renames = [set() if only_constants else renamable(path, sources) for path in members]
    locals_of = [local_names(sources.text(path))[0] for path in members]
    declared = [declared_to(path, sources) for path in members]
    for number, path in enumerate(members):
        names = locals_of[number]
        there = set().union(*declared) - declared[number]
        others = there.union(*locals_of[:number], *locals_of[number + 1:])
        again = {name for name in names if is_constant(name) and (name in seen or name in there)}
        again |= renames[number] & others
        meets_system = meets_system or not all(map(is_constant, again))
        text += "".join(f"#define {name} {name}_{number}\n" for name in sorted(again))
        text += f'#include "{path}"  // NOLINT(bugprone-suspicious-include)\n'
        text += "".join(f"#undef {name}\n" for name in sorted(again))
        seen |= names
    if meets_system:
        text = "".join(f"#include <{name}>\n" for name in system_headers(members, sources)) + text
    return text


def declared_to(path, sources):
    """What the headers of a file declare, and what it uses by using-declarations."""
    names = set(local_names(sources.text(path))[1])
    for header in sources.closure(path):
        if header.endswith(".h"):
            names |= declared_in(sources.text(header))
    return names


def system_headers(members, sources):
    """What members and their headers include of others; not where a file sets macros for it."""
    names = set()
    for path in members:
        for part in sources.closure(path):
            if "#define" not in sources.text(part):
                names.update(sources.includes[part][1])
    return sorted(names)


def includes_libtorch(path, sources):
    return any(LIBTORCH.match(name) for part in sources.closure(path) for name in sources.includes[part][1])


def grouped(files, sources, stays_alone, only_constants=False):
    """Groups of files (path -> flags) with the same flags, whose common local names can be told apart."""
    groups, singles = [], []
    for path, flags in files.items():
        own = names_of(path, sources)
        if stays_alone(path):
            singles.append({"flags": flags, "files": [path]})
            continue
        if not only_constants:
            own = (own[0] - renamable(path, sources), own[1])
        for group in groups:
            has_room = group["flags"] == flags and len(group["files"]) < MOST_IN_A_GROUP
            if has_room and all(map(is_constant, clashing(own, group["names"]))):
                break
        else:
            group = {"flags": flags, "files": [], "names": (set(), {})}
            groups.append(group)
        group["files"].append(path)
        group["names"][0].update(own[0])
        for name, origins in own[1].items():
            group["names"][1].setdefault(name, set()).update(origins)
    return groups + singles


def members_of(path):
    """The files of a group; a file that is none is its own."""
    text = path.read_text(errors="replace") if path.is_file() else ""
    return [ROOT / name for mark, name in INCLUDE.findall(text) if mark == '"'] if text.startswith(FIRST_LINE) else [path]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    files, outside = {}, {}
    for line in sys.stdin.read().splitlines():
        alone, line = line.startswith("alone "), line.removeprefix("alone ")
        target, path = line.split(" ", 1)
        path = pathlib.Path(path)
        # What the build makes is not there yet, and has names that nobody looked at.
        ours = path.is_relative_to(ROOT) and not path.is_relative_to(folder.parent)
        if ours and not alone and path.suffix == ".cc" and path.is_file():
            files.setdefault(target, {})[str(path.relative_to(ROOT))] = ()
        else:
            outside.setdefault(target, []).append(path)
    sources = Sources()
    for target, members in files.items():
        now = outside.get(target, [])
        # LibTorch's headers bear no other order, and its CHECK is not that of the tests.
        only_constants = any(includes_libtorch(path, sources) for path in members)
        groups = grouped(members, sources, lambda _: False, only_constants)
        for group in groups:
            if len(group["files"]) == 1:
                now.append(ROOT / group["files"][0])
                continue
            text = HEAD + all_in_one(group["files"], sources, only_constants)
            path = folder / f"{target}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.cc"
            if not path.is_file():
                path.write_text(text)
            now.append(path)
        print(f'set_property(TARGET {target} PROPERTY SOURCES "{";".join(map(str, now))}")')
    return 0


if __name__ == "__main__":
    sys.exit(main())
