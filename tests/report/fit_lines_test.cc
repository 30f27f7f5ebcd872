#include "report/fit_lines.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("short lines stay as they are, long ones are broken at blanks and go on further in") {
  CHECK(fit_lines("a b\n\n  c  d\nno end", 10) == "a b\n\n  c  d\nno end");
  CHECK(fit_lines("one two three four\n", 10) == "one two\n  three\n  four\n");
  CHECK(fit_lines("  one two three\n", 10) == "  one two\n    three\n");
  CHECK(fit_lines("one two three", 10) == "one two\n  three");
}

TEST_CASE("a word that is longer than a line stays whole") {
  CHECK(fit_lines("see /a/very/long/path now\n", 10) == "see\n  /a/very/long/path\n  now\n");
}

TEST_CASE("what follows a label hangs below where it began") {
  CHECK(fit_lines("  plan   the best of all\n", 20) == "  plan   the best of\n         all\n");
  CHECK(fit_lines("rank 10 0F0 0F1 0B0\n", 16) == "rank 10 0F0 0F1\n        0B0\n");
  CHECK(fit_lines("help: write one of them\n", 16) == "help: write one\n      of them\n");
}

TEST_CASE("a command is broken before its options, behind a backslash") {
  CHECK(fit_lines("  penstock plan c.json --gpus 8 --layout \"TP=1 PP=2\"\n", 30) ==
        "  penstock plan c.json \\\n"
        "      --gpus 8 \\\n"
        "      --layout \"TP=1 PP=2\"\n");
  // One that had a backslash keeps it, and what follows keeps its place.
  CHECK(fit_lines("  penstock plan c.json --gpus 8 \\\n      --vary mbs=1 --vary PP=2\n", 28) ==
        "  penstock plan c.json \\\n"
        "      --gpus 8 \\\n"
        "      --vary mbs=1 \\\n"
        "      --vary PP=2\n");
}

TEST_CASE("a command within a sentence gets lines of its own") {
  CHECK(fit_lines("help: the model is first: penstock plan c.json --gpus 8\n", 26) ==
        "help: the model is first:\n"
        "  penstock plan c.json \\\n"
        "      --gpus 8\n");
  // Words about a command are words.
  CHECK(fit_lines("help: see it (penstock --help has more)\n", 26) ==
        "help: see it (penstock\n      --help has more)\n");
}

TEST_CASE("what a terminal would obey is shown instead") {
  CHECK(show_controls("a red \x1b[31m name\a\r\x7f") ==
        "a red \\u001b[31m name\\u0007\\u000d\\u007f");
  CHECK(show_controls("two\nlines\tand \xc3\xa9, \xe2\x86\x92, \xc2\xa0") ==
        "two\nlines\tand \xc3\xa9, \xe2\x86\x92, \xc2\xa0");
  CHECK(show_controls("\xc2\x9b"
                      "31m, \xc2") == "\\u009b31m, \xc2");  // CSI in one character
}
