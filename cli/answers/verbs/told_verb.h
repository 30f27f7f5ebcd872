// Verbs that are told by what was typed in their place, or behind it: "nccl-tests out.txt" names a
// tool of `import`, "1f1b -P 4" a schedule, and "--lengths FILE" is an option of one verb only.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// What is said where the word is a tool or a schedule; else empty. `rest`: behind it.
std::string help_for_value_as_verb(const std::string& word, const Arguments& rest);

// The verb that alone has some of the options; empty where there is none, or two.
std::string verb_of_options(const Arguments& rest);

// With the flag of the verb that is called as what was typed in its place: "pack ... --lengths x"
// as "dynamic ... --lengths x --pack".
Arguments with_flag_called(const std::string& typed, const std::string& verb, Arguments rest);

}  // namespace penstock
