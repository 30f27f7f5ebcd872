#!/usr/bin/env python3
"""Checks that every file includes what it uses, itself or through headers of ours.

    tools/includes_check.py [FOLDER]

A build that compiles files in groups cannot show it: the file before may have included it. For every file that git
knows, what it names of ours (types and functions that one header declares) and of the standard library must stand in
the headers that its own includes reach. Prints what is missing, a line each, and fails.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\])+\'', re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class|union) (\w+)\b(?! *;)|^using (\w+) =", re.MULTILINE)
# Where a name is said to be one in any other way: inside a class, ahead of its declaration, of a template.
NAMED = re.compile(
    r"\b(?:struct|enum class|class|enum|union|namespace|typename) (\w+)|\busing (?:\w+::)*(\w+)|^ *(\w+),? *(?=[,}\n]|$)|(\w+)&&\.\.\.",
    re.MULTILINE)
# Of the standard library, what a file most often uses and any of the headers that declare it.
STANDARD = {
    "algorithm": "sort stable_sort min_element max_element max min clamp find find_if any_of all_of none_of count_if "
                 "transform copy fill reverse unique remove_if lower_bound upper_bound nth_element shuffle rotate",
    "array": "array", "atomic": "atomic atomic_bool", "bit": "bit_width popcount countr_zero has_single_bit bit_cast",
    "charconv": "from_chars to_chars", "chrono": "chrono", "cmath": "sqrt pow log log2 exp isfinite isnan llround lround fabs floor ceil",
    "condition_variable": "condition_variable", "deque": "deque", "exception": "exception exception_ptr",
    "filesystem": "filesystem", "fstream": "ifstream ofstream", "functional": "function hash less greater plus ref cref",
    "future": "future async promise", "initializer_list": "initializer_list", "iostream": "cout cerr cin",
    "limits": "numeric_limits", "map": "map multimap", "memory": "unique_ptr shared_ptr make_unique make_shared weak_ptr",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once", "numbers": "numbers",
    "numeric": "accumulate iota gcd lcm partial_sum midpoint", "optional": "optional nullopt", "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 uniform_int_distribution", "ranges": "ranges views", "regex": "regex smatch",
    "set": "set multiset", "span": "span", "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error invalid_argument out_of_range logic_error", "thread": "thread jthread this_thread",
    "tuple": "tuple make_tuple tie", "unordered_map": "unordered_map", "unordered_set": "unordered_set",
    "utility": "pair move swap exchange as_const", "variant": "variant visit get_if holds_alternative monostate",
    "vector": "vector", "string": "string to_string stoi getline", "string_view": "string_view",
}
# What other headers of the library declare as well, as C++20 says they do or as all known ones do.
ALSO = {
    "string": {"string_view", "sstream", "stdexcept", "filesystem", "iostream", "fstream", "regex"},
    "string_view": {"string"},
    "utility": {"map", "tuple", "vector", "string", "memory", "algorithm", "optional", "functional", "variant", "unordered_map",
                "set", "array", "queue", "deque", "ranges", "span"},
    "initializer_list": {"vector", "string", "map", "set", "utility", "algorithm", "array", "span", "string_view", "optional"},
    "algorithm": {"ranges"}, "ranges": {"algorithm"}, "exception": {"stdexcept"}, "optional": {"ranges"},
    "functional": {"map", "set", "unordered_map", "unordered_set", "queue", "string", "memory", "algorithm"},
    "tuple": {"map", "memory"}, "sstream": {"iomanip"}, "mutex": {"condition_variable"}, "chrono": {"thread"},
    "thread": {"future"}, "cmath": {"random"},
}
USE = re.compile(r"\bstd::(\w+)")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT)
    texts, includes = {}, {}
    for file in sorted([*root.rglob("*.h"), *root.rglob("*.cc")]):
        path = file.relative_to(root).as_posix()
        if path.startswith(("build/", ".", "tests/layers/")):
            continue
        whole = file.read_text()
        includes[path] = set(INCLUDE.findall(whole))
        texts[path] = NOT_CODE.sub('""', INCLUDE.sub("", whole))

    def resolved(path, name):
        for folder in ("", "tests/", str(pathlib.Path(path).parent) + "/"):
            if folder + name in texts:
                return folder + name
        return None

    reached = {}

    def reach(path):
        """Headers of ours and of the system that this file's includes reach."""
        if path not in reached:
            reached[path] = (set(), set())
            ours, system = {path}, set()
            for mark, name in includes[path]:
                own = resolved(path, name)
                if own is None:
                    system.add(name)
                    continue
                more = reach(own)
                ours |= more[0] | {own}
                system |= more[1]
            reached[path] = (ours, system)
        return reached[path]

    declared = {}
    for path, text in texts.items():
        if path.endswith(".h"):
            for first, second in TYPE.findall(text):
                declared.setdefault(first or second, set()).add(path)
    header_of = {name: header for header, all_names in STANDARD.items() for name in all_names.split()}
    named_in = {path: {name for names in NAMED.findall(text) for name in names} for path, text in texts.items()}
    findings = []
    for path, text in texts.items():
        ours, system = reach(path)
        for name in set(USE.findall(text)):
            header = header_of.get(name)
            if header and header not in system and not ALSO.get(header, set()) & system:
                findings.append(f"{path}: std::{name} needs <{header}>")
        named = set().union(*(named_in[one] for one in ours))
        words = set(re.findall(r"(?<![\w.:])(?<!->)[A-Z]\w*[a-z]\w*\b", text))
        for name in words - named:
            headers = declared.get(name, set())
            if headers and not headers & ours:
                findings.append(f"{path}: {name} needs \"{sorted(headers)[0]}\"")
    print("\n".join(sorted(findings)) or f"{len(texts)} files include what they use")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
