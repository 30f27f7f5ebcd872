// Commands to be copied into a shell.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// An argument as a POSIX shell takes it, quoted where it must be.
std::string shell_word(const std::string& argument);

// Several, with a blank between them.
std::string shell_words(const Arguments& arguments);

// "penstock report plan.json -o report.html"
std::string command_of(const std::string& verb, const Arguments& arguments);

}  // namespace penstock
