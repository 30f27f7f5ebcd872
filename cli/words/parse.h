// Strict reading of what people type: the whole text or an Error{kBadInput} that names the option,
// the value and what would be right.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/units.h"

namespace penstock {

int parse_int(std::string_view option, std::string_view text, int least,
              int most = std::numeric_limits<int>::max());
// A plain decimal number.
double parse_number(std::string_view option, std::string_view text, double least, double most);
// "18.522ms"; the unit is required.
Duration parse_time(std::string_view option, std::string_view text);
// How long people wait: also "5min", "5m" and "2h".
Duration parse_budget(std::string_view option, std::string_view text);
Bytes parse_gib(std::string_view option, std::string_view text);
// Also true and false, yes and no, 1 and 0.
bool parse_on_off(std::string_view option, std::string_view text);

// "a,b,c"; nothing between two commas is refused.
std::vector<std::string> parse_list(std::string_view option, std::string_view text);
// "P=8,T=4" in order; a key given twice is refused.
using KeyValues = std::vector<std::pair<std::string, std::string>>;
KeyValues parse_key_values(std::string_view option, std::string_view text);

// "zero 3", "ZeRO-3", "fsdp", "zb-h1", "selective": with the choice whose value they are,
// "sharding=zero3"; or nothing.
std::string pair_called(std::string_view text);

// Of options that may be absent: what was given, else `otherwise`.
int parse_count(std::string_view option, const std::optional<std::string>& text, int least,
                int otherwise, int most = std::numeric_limits<int>::max());
double parse_rate(std::string_view option, const std::optional<std::string>& text, double most,
                  double otherwise);
// At least 0 and less than 1.
double parse_share(std::string_view option, const std::optional<std::string>& text,
                   double otherwise);

// Error{kBadInput} where `word` is a further value of a key in `text`: "seq=2048,4096".
void refuse_second_value(std::string_view option, std::string_view text, std::string_view word);

// "OPTION: WHAT\nhelp: HELP" as Error{kBadInput}.
[[noreturn]] void bad_option(std::string_view option, const std::string& what,
                             const std::string& help);
// "did you mean 'plan'?", or "known: plan, check" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);
// Slips of the keyboard between two words: a letter too many, too few or another one, or two
// neighbours swapped ("plna").
std::size_t slips_between(std::string_view word, std::string_view known);
// "OPTION: unknown 'TEXT'", with what was meant; `what`: "schedule ", where that needs saying.
[[noreturn]] void unknown_word(std::string_view option, std::string_view text,
                               const std::vector<std::string>& known, std::string_view what = "");

// The value that stands behind the word in the table.
template <class Value>
Value parse_word(std::string_view option, std::string_view text,
                 const std::vector<std::pair<std::string, Value>>& table,
                 std::string_view what = "") {
  std::vector<std::string> known;
  for (const auto& [word, value] : table) {
    if (word == text) return value;
    known.push_back(word);
  }
  unknown_word(option, text, known, what);
}

}  // namespace penstock
