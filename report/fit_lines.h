// The last steps before a terminal: no line of a text is longer than the terminal, and nothing that
// a file holds makes it do anything but show a letter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// Breaks the lines that are longer than `width` at blanks; all others stay as they are. What
// follows a label and two blanks hangs below where it began; a command of the shell goes on behind
// a backslash, so that it can be copied. A word that is longer than a line stays whole.
std::string fit_lines(std::string_view text, std::size_t width);

// A command, broken before its options and never within quotes; `indent` blanks before it, four
// more before what follows.
std::string command_lines(const std::string& command, std::size_t width, std::size_t indent = 2);

// Names come from files of other people, and a terminal would obey the control characters in them:
// these are written as JSON writes them, "\u001b". Line ends and tabulators stay.
std::string show_controls(std::string_view text);

}  // namespace penstock
