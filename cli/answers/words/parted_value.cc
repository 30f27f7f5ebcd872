#include "cli/answers/words/parted_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/measured_time.h"
#include "cli/words/schedule_spelled.h"
#include "report/words.h"

namespace penstock {
namespace {

// The option, of those whose value is a list, that stands two words before this one; or null.
const OptionRow* list_before(const SurplusWord& surplus) {
  const auto at = surplus.place();
  if (at - surplus.own.begin() < 2) return nullptr;
  for (const OptionRow& row : surplus.asked.index().rows()) {
    const bool is_list = !row.positional && row.value_name.find(",...") != std::string::npos;
    if (is_list && is_among(row.names, *(at - 2))) return &row;
  }
  return nullptr;
}

// The further words of a list, up to the next option, schedules among them as they are written.
Arguments further_words(const SurplusWord& surplus) {
  const auto at = surplus.place();
  const auto end =
      std::find_if(at, surplus.own.end(), [](const auto& each) { return each.starts_with('-'); });
  Arguments words(at, end);
  std::erase_if(words, [](const std::string& each) {
    return is_among({"vs", "and", "or", "versus"}, each);
  });
  for (std::string& each : words) {
    if (const std::string_view schedule = schedule_spelled(each); !schedule.empty()) {
      each = schedule;
    }
  }
  return words;
}

std::string list_as_one_word(const SurplusWord& surplus, const std::string& option,
                             const std::string& value, bool has_keys) {
  const char* between = has_keys && value.ends_with('=')                   ? ""
                        : has_keys && value.find('=') == std::string::npos ? "="
                                                                           : ",";
  Arguments words = further_words(surplus);
  // "--device h100 --vary device h200": with the one that was typed.
  const auto given = std::find(surplus.own.begin(), surplus.own.end(), "--" + value);
  if (option == "--vary" && has_keys && given != surplus.own.end() &&
      surplus.own.end() - given > 1) {
    words.insert(words.begin(), *(given + 1));
  }
  if (option == "--schedule" && surplus.has("--vary")) {
    return fmt::format("write --vary schedule={},{}", value, joined(words, ","));
  }
  const bool is_zero = option == "--vary" && plain_word(value).starts_with("zero");
  return fmt::format("write it as one word: {} {}{}{}", option, is_zero ? "sharding" : value,
                     between, joined(words, ","));
}

}  // namespace

std::string costs_as_one_word(Arguments::const_iterator word, Arguments::const_iterator end) {
  std::string costs;
  for (; word != end && !word->starts_with('-'); ++word) {
    const bool begins_pair = word->find('=') != std::string::npos;
    if (begins_pair && !costs.empty() && !costs.ends_with(',')) costs += ',';
    costs += *word;
  }
  if (costs.ends_with(',')) costs.pop_back();
  return costs;
}

std::string help_for_blank_at_comma(const SurplusWord& surplus) {
  const Arguments& own = surplus.own;
  const auto at = surplus.place();
  if (at - own.begin() < 2 || !(at - 2)->starts_with("--")) return "";
  std::string value = *(at - 1);
  for (auto next = at; next != own.end(); ++next) {
    if (!value.ends_with(',') && !next->starts_with(',')) break;
    if (next->starts_with('-')) break;
    value += *next;
  }
  if (value == *(at - 1)) return "";
  if (value.ends_with(',')) value.pop_back();
  return fmt::format("a blank ends the value; write it as one word: {} {}", *(at - 2), value);
}

std::string help_for_parted_list(const SurplusWord& surplus) {
  const OptionRow* row = list_before(surplus);
  if (row == nullptr) return "";
  const auto at = surplus.place();
  const std::string &option = *(at - 2), &value = *(at - 1);
  const auto is_number = [](const std::string& text) {
    return text.find_first_not_of("0123456789.,") == std::string::npos;
  };
  if (is_number(value) && !is_number(surplus.word)) return "";  // "-M 8 gpipe"
  if (option == "--cost") {
    return "write it as one word: --cost " + costs_as_one_word(at - 1, surplus.own.end());
  }
  return list_as_one_word(surplus, option, value, row->value_name.find('=') != std::string::npos);
}

std::string help_for_parted_time(const SurplusWord& surplus) {
  Arguments own = surplus.own;
  const auto unit = std::find(own.begin(), own.end(), surplus.word);
  const bool follows_time = unit - own.begin() > 1 && unit != own.end() && *(unit - 2) == kMeasured;
  if (!follows_time) return "";
  const std::string joined = *(unit - 1) + surplus.word, time = plain_step_time(joined);
  const bool is_rate = surplus.word.find("/s") != std::string::npos;  // is told in its turn
  if (time.empty() && !is_rate) return "";
  *(unit - 1) = time.empty() ? joined : time;
  own.erase(unit);
  return "the unit follows its number without a blank: " + whole_command(surplus.verb(), own);
}

std::string help_for_parted_count(const SurplusWord& surplus) {
  constexpr std::array<std::pair<std::string_view, char>, 8> kLetters{{{"thousand", 'K'},
                                                                       {"million", 'M'},
                                                                       {"billion", 'B'},
                                                                       {"trillion", 'T'},
                                                                       {"K", 'K'},
                                                                       {"M", 'M'},
                                                                       {"B", 'B'},
                                                                       {"T", 'T'}}};
  const auto at = surplus.place();
  const bool has_option = at - surplus.own.begin() > 1 && (at - 2)->starts_with('-');
  for (const auto& [number, letter] : kLetters) {
    if (surplus.word != number && surplus.word != std::string(number) + 's') continue;
    return has_option ? fmt::format("write it as one word: {} {}{}", *(at - 2), *(at - 1), letter)
                      : "write the number and a letter as one word, for example 2T";
  }
  return "";
}

std::string help_for_parted_device(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  const auto at = surplus.place();
  if (at - surplus.own.begin() < 2 || *(at - 2) != "--device") return "";
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const std::string& before = *(at - 1);
  const bool are_two = std::any_of(before.begin(), before.end(), is_digit) && word.size() > 2 &&
                       std::isalpha(static_cast<unsigned char>(word[0])) != 0 &&
                       std::isdigit(static_cast<unsigned char>(word[1])) != 0;
  if (are_two) {
    return fmt::format(
        "penstock compare ... --vary device={},{} plans for each; GPUs of several "
        "types at once are a cluster file: --cluster FILE",
        before, word);
  }
  return fmt::format("quote a name with blanks: --device \"{} {}\"", before, word);
}

}  // namespace penstock
