// A command that is refused, mended by what its errors say one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

// The text of the error that a command, behind "penstock", meets; nothing when it is carried out.
using RefusalOf = std::function<std::optional<std::string>(const Arguments&)>;

std::string_view first_line(std::string_view text);
// Behind the first "help: "; empty where there is none.
std::string_view help_in(std::string_view message);
// By its ending.
bool names_file(std::string_view word);
// Whether it names a file as an example: one that is read, is not there, and that nobody typed.
bool names_example(const Arguments& words, const Arguments& typed);
// The option that an error is about: "unknown option '--load'", "--layout: .."; or empty.
std::string option_in(std::string_view message);
// Where an option stands, also as "--gpus=8"; the end where it does not.
std::size_t place_of(const Arguments& words, const std::string& option);
// Something is missing: many answers show a part of a command.
bool is_of_part(std::string_view refusal);

// The command as the help of its error would have it: with other options in place of the one that
// the error is about, or without it. Empty where the help says neither. What was typed stays where
// the help proposes it again; an example gives way.
Arguments as_helped(Arguments words, const std::string& message, const Arguments& typed);

struct Mended {
  Arguments words;            // empty: nothing is known that is taken
  bool has_examples = false;  // for what was missing
};

// What the help of one refusal after the other leads to, where that is taken. All files of the
// command that are there stay.
Mended mended_command(Arguments words, std::string refusal, const Arguments& typed,
                      const RefusalOf& refusal_of);

}  // namespace penstock
