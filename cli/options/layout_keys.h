// The keys of a layout: one table, from which they are read, and --help and the messages are made.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The first name of a key; empty when there is none of the name. A lone B is the global batch, b
// the size of a micro-batch.
std::string_view key_named(std::string_view name);

// Error{kBadInput} of a name that is said elsewhere than in a layout, or in another word.
void refuse_elsewhere(std::string_view option, std::string_view name, const std::string& value);
// Error{kBadInput}: that, or the key that was probably meant.
[[noreturn]] void unknown_key(std::string_view option, std::string_view name,
                              const std::string& value);

// All keys with their names and meanings.
std::string layout_keys_help();

}  // namespace penstock
