// Colour on a terminal. It only repeats what the words say: headings, the marks of plans, and the
// first words of errors stand out, and without it nothing is missing.
#pragma once

#include <string>

#include "cli/io/answer.h"
#include "runtime_bridge/launch_environment.h"

namespace penstock {

enum class ColorChoice { kAuto, kAlways, kNever };

// Takes --color WHEN out of the arguments: every verb has it. Error{kBadInput} for an unknown WHEN,
// for none, and when there are two.
ColorChoice take_color(Arguments& arguments);

// The choice comes first; then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE; then a terminal has it unless
// CLICOLOR=0 or TERM=dumb.
bool use_color(ColorChoice choice, const Environment& environment, bool is_terminal);

// A text for people with its headings bold and the marks behind the numbers of plans green.
std::string colored_text(const std::string& text);
// A whole message of an error: "error:" red, "help:" cyan.
std::string colored_error(const std::string& message);

}  // namespace penstock
