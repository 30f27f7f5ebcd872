#!/usr/bin/env python3
"""Usage: torch_program.py PENSTOCK TORCH_PROGRAM.

`penstock` without LibTorch goes on as the program beside it that has it: the same process, with the
same arguments, input, output, signals and exit code; and says what is missing where that is not
there. In empty folders, in which a script stands for the second program, and once with the program
that was built.

Run from the repository root."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PENSTOCK = TORCH_PROGRAM = ""
TRAIN = ["train", "plan.json", "--data", "corpus.txt"]

# What it was given, to be compared. No shell: those unblock signals.
STAND_IN = f"""#!{sys.executable}
import json, os, signal, sys
blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
print(json.dumps([os.getpid(), blocked, sys.argv[1:], sys.stdin.read(), os.environ.get("PENSTOCK_TEST")]))
print("complaint", file=sys.stderr)
sys.exit(7)
"""


def lone_penstock(folder):
    os.makedirs(os.path.join(folder, "bin"))
    return shutil.copy(PENSTOCK, os.path.join(folder, "bin", "penstock"))


def put(folder, name, text=STAND_IN, mode=0o755):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def run(program, *arguments, **options):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          **{"stdin": subprocess.DEVNULL, **options})


def block_signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})


class TorchProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.penstock = lone_penstock(self.folder)
        self.name = os.path.basename(TORCH_PROGRAM)

    def check_goes_on(self, place):
        put(self.folder, place)
        arguments = ["--color", "never", "profile", "gpt", "--layers", "4", "--json"]
        with subprocess.Popen([self.penstock, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, preexec_fn=block_signals,
                              env={**os.environ, "PENSTOCK_TEST": "kept"}) as process:
            output, errors = process.communicate("from a pipe", timeout=120)
        # Two signals wait, as where a launcher starts ranks.
        self.assertEqual(json.loads(output), [process.pid, [signal.SIGUSR1, signal.SIGUSR2], arguments,
                                              "from a pipe", "kept"])
        self.assertEqual((errors, process.returncode), ("complaint\n", 7))

    def test_goes_on_as_the_program_in_its_own_folder(self):
        self.check_goes_on(os.path.join("bin", self.name))

    def test_goes_on_as_the_installed_program(self):
        self.check_goes_on(os.path.join("libexec", "penstock", self.name))

    def test_a_link_to_penstock_finds_what_stands_beside_the_file(self):
        put(self.folder, os.path.join("bin", self.name))
        link = os.path.join(self.folder, "penstock-of-mine")
        os.symlink(self.penstock, link)
        self.assertEqual(run(link, "profile", "gpt").returncode, 7)

    def test_help_and_mistakes_need_no_second_program(self):
        for arguments in (["train", "--help"], ["profile", "--help"], ["--version"]):
            self.assertEqual(run(self.penstock, *arguments).returncode, 0, arguments)
        for arguments in (["train"], ["train", "plan.json", "--steps", "few"], ["profile", "gpt", "--lairs", "4"]):
            done = run(self.penstock, *arguments)
            self.assertEqual((done.returncode, self.name in done.stderr), (2, False), arguments)

    def test_ranks_that_sleep_need_no_second_program(self):
        done = run(self.penstock, "train", "no-such-plan.json", "--virtual")
        self.assertIn("no-such-plan.json: cannot read this file", done.stderr)

    def test_says_what_is_missing_and_where(self):
        for arguments in (TRAIN, ["profile", "gpt"]):
            done = run(self.penstock, *arguments)
            self.assertEqual(done.returncode, 3)
            for words in ("that uses LibTorch is missing", self.name, os.path.join(self.folder, "bin"),
                          os.path.join(self.folder, "libexec", "penstock"), "help: the two programs"):
                self.assertIn(words, done.stderr)
            self.assertNotIn("another version", done.stderr)

    def test_does_not_go_on_as_another_version(self):
        put(self.folder, "bin/penstock-torch-0.0.1")
        done = run(self.penstock, *TRAIN)
        self.assertEqual(done.returncode, 3)
        self.assertIn("penstock-torch-0.0.1 in ", done.stderr)
        self.assertIn("is of another version", done.stderr)

    def test_says_why_the_second_program_cannot_start(self):
        put(self.folder, os.path.join("bin", self.name), mode=0o644)
        done = run(self.penstock, *TRAIN)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"cannot start {self.folder}/bin/{self.name}", done.stderr)
        self.assertIn("Permission denied", done.stderr)

    def test_a_link_to_nothing_is_said_to_be_no_other_version(self):
        program = os.path.join(self.folder, "bin", self.name)
        os.symlink("no-such-file", program)
        done = run(self.penstock, *TRAIN)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"cannot start {program}", done.stderr)
        self.assertNotIn("another version", done.stderr)

    def test_the_program_that_was_built(self):
        done = run(PENSTOCK, *TRAIN)
        self.assertEqual(done.returncode, 3)
        self.assertIn("plan.json: cannot read this file", done.stderr)

    def test_a_plan_may_come_through_a_pipe(self):
        done = run(PENSTOCK, "train", "/dev/stdin", "--data", "corpus.txt", stdin=None, input="not a plan")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/dev/stdin", done.stderr)
        self.assertNotIn("empty", done.stderr)

    def test_only_the_second_program_loads_libtorch(self):
        def loads(program):
            return "libtorch" in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout

        self.assertEqual((loads(PENSTOCK), loads(TORCH_PROGRAM)), (False, True))


if __name__ == "__main__":
    PENSTOCK, TORCH_PROGRAM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
