// What an answer to an option says to write, as words of a command: so that several answers make
// one command together.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/answers/options/unread_options.h"
#include "cli/answers/options/word_index.h"

namespace penstock {

// How such answers begin.
inline constexpr std::string_view kMisspelt = "did you mean '--", kWrite = "write --",
                                  kLeave = "leave it";

// Where what is to be written ends: the comma of "EP=8,ETP=1" and the colon of "fsdp:8" are in it.
std::size_t end_of_words(std::string_view help);

// Whether the words say what was typed: the value is one of them, or that of a lone pair, "mbs=2".
bool say_value(const Arguments& words, const std::string& value);

// "--fp16", "--fp16 True": it was switched on, or off.
bool is_on(const std::string& value);
bool is_off(const std::string& value);
// `help`, where it says what to write for an option that is on, of one that was switched off.
std::string help_where_on(std::string help, const std::string& value);

// What stands in its place in the command that is meant, its own value aside; nothing where nobody
// can say.
std::optional<Arguments> words_instead(const UnreadOption& option, const WordIndex& index);

}  // namespace penstock
