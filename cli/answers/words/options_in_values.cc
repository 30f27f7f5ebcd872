#include "cli/answers/words/options_in_values.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/words/field_words.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

Arguments parts_of_value(const std::string& value) {
  Arguments parts{""};
  for (const char c : value) {
    const bool ends = c == ',' || c == ';' || c == ' ';
    if (!ends) parts.back() += c;
    if (ends && !parts.back().empty()) parts.emplace_back();
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

// The option of the verb that a key is called after, "--global-batch" of "Global_Batch"; or "".
std::string option_of(const OptionTable& table, std::string_view key) {
  std::string name = "--" + plain_word(key);
  const OptionRow* row = row_named(table, name);
  if (row != nullptr && row->takes_value()) return name;
  const std::string called = "--" + key_called(key);
  return row_named(table, called) != nullptr && called.size() > 3 ? called : "";
}

// "gpus=8", "gpus:8", "--gpus=8" and "--gpus 8", read from `parts` at `i`, as an option and its
// value.
std::optional<Arguments> option_in(const OptionTable& table, const Arguments& parts,
                                   std::size_t& i) {
  const std::string& part = parts[i];
  const std::size_t dashes = std::min(part.find_first_not_of('-'), part.size());
  const std::size_t mark = part.find_first_of("=:");
  const std::string name = option_of(table, part.substr(dashes, mark - dashes));
  if (name.empty()) return std::nullopt;
  if (mark != std::string::npos) {
    return mark + 1 < part.size() ? std::optional(Arguments{name, part.substr(mark + 1)})
                                  : std::nullopt;
  }
  if (dashes == 0 || i + 1 == parts.size()) return std::nullopt;
  return Arguments{name, parts[++i]};
}

// The value and the options behind it; nothing where there is anything else.
std::optional<Arguments> words_in(const OptionTable& table, const GivenOption& option) {
  const Arguments parts = parts_of_value(option.value);
  if (parts.size() < 2 || parts[0].find('=') != std::string::npos) return std::nullopt;
  Arguments words{option.name, parts[0]};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto more = option_in(table, parts, i);
    if (!more) return std::nullopt;
    words.insert(words.end(), more->begin(), more->end());
  }
  return words;
}

}  // namespace

void refuse_options_in_values(const OptionTable& table, const Arguments& words) {
  for (const GivenOption& option : given_words(table, words).options) {
    const OptionRow* row = row_named(table, option.name);
    // Lists and pairs are read by those who know their keys.
    const bool is_one = row != nullptr && row->value_name.find('=') == std::string::npos;
    if (!is_one || option.value.size() > 200) continue;
    const auto apart = words_in(table, option);
    if (!apart) continue;
    bad_option(option.name, fmt::format("'{}' holds other options", option.value.substr(0, 60)),
               "each stands by itself: " +
                   whole_command(verb_of(table), with_instead(words, option, *apart)));
  }
}

}  // namespace penstock
