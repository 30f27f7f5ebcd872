// The option that a value speaks of, whatever the name before it: "--strategy fsdp", "--batch 4M".
#pragma once

#include <string_view>

namespace penstock {

// "--schedule" of a schedule's name, "--sharding", "--for" (a trainer), "--precision", "--device";
// empty where a value may belong to several options or to none.
std::string_view option_of_value(std::string_view value);

// Names that say of no value what it is: "strategy", "mode", "backend".
bool says_nothing_of_value(std::string_view name);

// "4M" and "4194304" of a batch are tokens: no step has so many samples.
bool counts_tokens(std::string_view value);

}  // namespace penstock
