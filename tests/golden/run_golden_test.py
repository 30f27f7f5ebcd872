#!/usr/bin/python3
"""The golden runner accepts what is equal, refuses what is not, and rewrites when asked to."""

import os
import subprocess
import sys
import tempfile
import unittest

RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_golden.py")
GOOD = """What a shell says.

$ -c 'echo a b; echo unseen >&2'
a b
$ -c 'echo out; echo err >&2; exit 3'
out
err
exit 3
$ -c 'echo kept > $TMP/file'
$ -c 'cat $TMP/file; echo $TMP'
kept
$TMP
"""


class RunGolden(unittest.TestCase):
    def run_on(self, text, update="0"):
        """The runner's exit code and what the file holds afterwards; /bin/sh plays the program."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "topic.golden")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            code = subprocess.run([sys.executable, RUNNER, "/bin/sh", path], check=False,
                                  stdout=subprocess.DEVNULL,
                                  env={**os.environ, "UPDATE_GOLDEN": update}).returncode
            with open(path, encoding="utf-8") as file:
                return code, file.read()

    def test_equal_output_passes(self):
        self.assertEqual(self.run_on(GOOD), (0, GOOD))

    def test_another_line_fails_and_the_file_stays(self):
        bad = GOOD.replace("a b\n", "a c\n")
        self.assertEqual(self.run_on(bad), (1, bad))

    def test_another_exit_code_fails(self):
        self.assertEqual(self.run_on(GOOD.replace("exit 3\n", "exit 2\n"))[0], 1)
        self.assertEqual(self.run_on(GOOD.replace("exit 3\n", ""))[0], 1)

    def test_blank_lines_count(self):
        self.assertEqual(self.run_on(GOOD + "\n")[0], 1)

    def test_update_rewrites(self):
        self.assertEqual(self.run_on(GOOD.replace("a b\n", "").replace("kept\n$", "$"), "1"),
                         (0, GOOD))

    def test_a_file_without_commands_fails(self):
        self.assertEqual(self.run_on("nothing to run\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
