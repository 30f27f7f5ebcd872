#include "cli/answers/verbs/several_values.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/number_spellings.h"
#include "cli/words/option_spellings.h"
#include "cli/words/parted_at_commas.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

// What --vary calls it; empty of what takes a list itself, or is read by what knows its names
// (schedules, GPUs and how many).
std::string varied_key(const std::string& plain) {
  constexpr std::array<std::string_view, 6> kKeys{"attention", "precision", "sharding",
                                                  "recompute", "network",   "memory-limit"};
  constexpr std::array<std::string_view, 5> kAttention{"attn", "attn-implementation",
                                                       "attention-implementation",
                                                       "attention-backend", "attn-backend"};
  constexpr std::array<std::string_view, 8> kCounted{"T", "C", "EP", "P",
                                                     "D", "V", "b",  "global-batch"};
  if (is_among(kAttention, plain)) return "attention";
  if (is_zero(plain)) return "sharding";
  if (is_among(kKeys, plain)) return plain;
  const std::string key = key_called(plain);
  const bool is_length = key == "sequence-length";
  if (!is_length && !is_among(kCounted, key)) return "";
  return is_length ? "sequence-length" : field_word(key);
}

bool is_number_key(const std::string& key) {
  return !is_among({"attention", "precision", "sharding", "recompute", "network", "memory-limit"},
                   key);
}

// "4k" of a count as "4096", "3" of a ZeRO stage as "zero3"; other texts as they are.
std::string value_of_key(const std::string& key, const std::string& typed) {
  const bool is_stage = key == "sharding" && is_digits(typed);
  if (is_stage) return typed == "0" ? "none" : "zero" + typed;
  if (!is_number_key(key) || is_digits(typed)) return typed;
  const std::string plain = plain_number(typed);
  return plain.empty() ? typed : plain;
}

struct Several {
  std::string name, key;
  std::vector<std::string> values;
  std::vector<GivenOption> options;  // all that set it, in their order
};

Several several_of(const std::string& key, const GivenWords& given) {
  Several several;
  several.key = key;
  for (const GivenOption& option : given.options) {
    if (varied_key(plain_name(option)) != key) continue;
    if (several.name.empty()) several.name = option.name;
    several.options.push_back(option);
    for (const std::string& value : parted_at_commas(option.value)) {
      const std::string one = value_of_key(key, value);
      if (!is_among(several.values, one)) several.values.push_back(one);
    }
  }
  return several;
}

bool may_vary(const GivenOption& option) {
  const std::string& value = option.value;
  // "1,048,576" is one number, "4,5" of a decimal comma none, and "a=b,c=d" are pairs.
  const bool is_one = !without_thousands(value, ',').empty();
  return !varied_key(plain_name(option)).empty() && !value.empty() && !is_one &&
         value.find('=') == std::string::npos && value.find("..") == std::string::npos;
}

bool are_counts(const Several& several) {
  return !is_number_key(several.key) ||
         std::all_of(several.values.begin(), several.values.end(), is_digits);
}

}  // namespace

void refuse_several_values(const std::string& verb, const Arguments& words,
                           const GivenWords& given) {
  if ((verb != "plan" && verb != "compare") || given.bare.empty()) return;
  const FileRole role = role_of(given.bare.front());
  if (role != FileRole::kModel && role != FileRole::kProfile) return;
  for (const GivenOption& option : given.options) {
    if (!may_vary(option)) continue;
    const Several several = several_of(varied_key(plain_name(option)), given);
    // Without the option a plan is searched among all modes.
    const bool is_searched = verb == "plan" && several.key == "recompute";
    if (several.values.size() < 2 || !are_counts(several) || is_searched) continue;
    const Arguments rest = without(words, several.options);
    const std::string values = joined(several.values, ",");
    Arguments command =
        verb == "compare" ? rest : with_taken("compare", {given.bare.front()}, rest);
    command.insert(command.end(), {"--vary", several.key + '=' + values});
    throw_bad_input(fmt::format("{}: {} are several, and one belongs here\nhelp: {} plans for each",
                                several.name, values, whole_command("compare", command)));
  }
}

}  // namespace penstock
