#!/usr/bin/env python3
"""Usage: source_groups_test.py COMPILER. Which sources may be one file, and what is done when they cannot be."""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import source_groups  # noqa: E402

LAUNCHER = ROOT / "tools/compile_group.py"
ONE = "namespace {\nint helper() { return 1; }\nconstexpr int kMost = 1;\n}  // namespace\nint one() { return helper() + kMost; }\n"
TWO = ONE.replace("int one", "int two").replace("return 1", "return 2").replace("kMost = 1", "kMost = 2")
# A macro for its helper would meet that of another type, so it has none.
MEMBER = ONE.replace("helper() +", "Other{}.helper() +").replace("int one", "struct Other { int helper(); };\nint member")
THREE = "namespace {\nusing outer::helper;\n}  // namespace\n"
FOUR = "namespace {\nconstexpr int kMost = 4;\n}  // namespace\nint four() { return kMost; }\n"


def groups_of(texts):
    sources = source_groups.Sources()
    sources.texts = dict(texts)
    sources.includes = {path: ([], []) for path in texts}
    return [group["files"] for group in source_groups.grouped({path: () for path in texts}, sources, lambda _: False)]


def check_groups():
    assert groups_of({"1": ONE, "2": TWO}) == [["1", "2"]], "two helpers of one name can get numbers"
    assert groups_of({"1": ONE, "2": MEMBER}) == [["1", "2"]], "one of two helpers can get a number"
    assert groups_of({"1": MEMBER, "2": MEMBER}) == [["1"], ["2"]], "two helpers of one name met"
    assert groups_of({"1": MEMBER, "3": THREE}) == [["1"], ["3"]], "a helper met another one that is used by its name"
    assert groups_of({"1": ONE, "3": THREE}) == [["1", "3"]], "a helper can get a number before another one is used"
    assert groups_of({"3": THREE, "4": THREE}) == [["3", "4"]], "to use the same name is no clash"
    assert groups_of({"1": ONE, "4": FOUR}) == [["1", "4"]], "constants get the file's number"


def check_headers():
    """What is included with < > is another's, with " " ours, where it is there; system headers come first, each once."""
    text = '#include "tools/none.h"\n#include "core/values/error.h"\n# include <vector>\n  #include <doctest/doctest.h>\n'
    found = source_groups.INCLUDE.findall(text)
    assert found == [('"', "tools/none.h"), ('"', "core/values/error.h"), ("<", "vector"), ("<", "doctest/doctest.h")], found
    sources = source_groups.Sources()
    with tempfile.NamedTemporaryFile("w", suffix=".cc", dir=ROOT / "tests/tools") as file:
        file.write(text)
        file.flush()
        path = str(pathlib.Path(file.name).relative_to(ROOT))
        sources.text(path)
        assert sources.includes[path] == (["core/values/error.h"], ["vector", "doctest/doctest.h"]), sources.includes[path]
    sources.texts = {"1": ONE, "2": TWO, "3": "#define RARE\n" + ONE}
    sources.includes = {"1": ([], ["vector", "map"]), "2": ([], ["vector"]), "3": ([], ["unistd.h"])}
    assert source_groups.system_headers(["1", "2", "3"], sources) == ["map", "vector"], "macros may be set for <unistd.h>"
    sources.includes["2"] = ([], ["torch/torch.h"])
    assert source_groups.includes_libtorch("2", sources) and not source_groups.includes_libtorch("1", sources)


class Folder:
    def __init__(self, name, compiler):
        self.path, self.compiler = pathlib.Path(name), compiler

    def write(self, name, text):
        (self.path / name).write_text(text)
        return self.path / name

    def group(self, *members):
        lines = [source_groups.FIRST_LINE, *(f'#include "{self.path / member}"' for member in members)]
        return self.write("group.cc", "\n".join(lines) + "\n")

    def compile(self, source, object_name="made.o"):
        return subprocess.run([sys.executable, LAUNCHER, self.compiler, "-std=c++20", "-MD", "-MT", object_name, "-MF",
                               f"{object_name}.d", "-o", object_name, "-c", source],
                              cwd=self.path, capture_output=True, text=True, check=False)

    def value_of(self, expression):
        self.write("main.cc", f"int one(); int two(); int four();\nint main() {{ return {expression}; }}\n")
        subprocess.run([self.compiler, "main.cc", "made.o", "-o", "program"], cwd=self.path, check=True)
        return subprocess.run([self.path / "program"], check=False).returncode


def check_launcher(compiler):
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(name, compiler)
        for file, text in (("one.cc", ONE), ("two.cc", TWO), ("wrong.cc", "int wrong() { return nothing; }\n")):
            folder.write(file, text)

        done = folder.compile(folder.path / "one.cc")
        assert done.returncode == 0, done.stderr
        assert folder.value_of("one()") == 2

        # Both have a helper and a kMost.
        done = folder.compile(folder.group("one.cc", "two.cc"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "was compiled file by file" in done.stdout, done.stdout
        assert folder.value_of("10 * one() + two()") == 24
        needs = (folder.path / "made.o.d").read_text()
        assert needs.startswith("made.o:"), needs
        assert all(part in needs for part in ("group.cc", "one.cc", "two.cc")), needs
        assert sorted(path.name for path in folder.path.glob("made.o*")) == ["made.o", "made.o.d"]

        # As they are really grouped, each of them is renamed.
        sources = source_groups.Sources()
        sources.texts = {"one.cc": ONE, "two.cc": TWO}
        sources.includes = {"one.cc": ([], ["vector"]), "two.cc": ([], [])}
        text = source_groups.all_in_one(["one.cc", "two.cc"], sources)
        assert text.startswith("#include <vector>\n"), text
        assert "#define helper helper_0\n" in text and "#undef helper\n" in text, text
        assert "#include" not in source_groups.all_in_one(["one.cc"], sources).replace('#include "one.cc"', ""), text
        done = folder.compile(folder.write("group.cc", source_groups.FIRST_LINE + "\n" + text))
        assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr
        assert folder.value_of("10 * one() + two()") == 24

        done = folder.compile(folder.group("one.cc", "wrong.cc"))
        assert done.returncode == 1
        assert "wrong.cc:1" in done.stderr and "group.cc" not in done.stderr, done.stderr


check_groups()
check_headers()
check_launcher(sys.argv[1])
