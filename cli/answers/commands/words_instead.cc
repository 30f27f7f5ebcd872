#include "cli/answers/commands/words_instead.h"

#include <algorithm>

#include "cli/words/field_words.h"

namespace penstock {
namespace {

// The words of the command that stand in a sentence, "--sharding zero3" of "write --sharding zero3,
// or ..", where they can be pasted: no placeholder and no choice.
std::optional<Arguments> words_written(std::string_view help) {
  help.remove_prefix(std::string_view("write ").size());
  const std::size_t end = end_of_words(help);
  const bool is_choice = help.find(" or ") != std::string_view::npos;
  Arguments words;
  for (std::size_t at = 0; at < end;) {
    const std::size_t blank = std::min(help.find(' ', at), end);
    const std::string word(help.substr(at, blank - at));
    const bool is_place = word.find("..") != std::string::npos ||
                          word.find('"') != std::string::npos ||
                          word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
    if (!word.empty() && is_place) return std::nullopt;
    const bool is_after = words.size() == 2 || (words.size() > 2 && words.size() % 2 == 0);
    if (is_after && !word.starts_with("--")) break;  // "for products of layers"
    if (!word.empty()) words.push_back(word);
    at = blank + 1;
  }
  if (is_choice || words.empty()) return std::nullopt;
  return words;
}

// "did you mean --to megatron?", "did you mean --cloud aws: aws, gcp or azure": the option that the
// value is of.
std::optional<Arguments> words_meant(std::string_view help, const std::string& value) {
  constexpr std::string_view kMeant = "did you mean ";
  const std::size_t blank = help.find(' ', kMeant.size());
  const std::size_t end = help.ends_with('?') ? help.size() - 1 : help.find(": ");
  const bool is_one = help.starts_with("did you mean --") && blank < end &&
                      end != std::string_view::npos && help.find("; or ") == std::string_view::npos;
  if (!is_one || value.empty()) return std::nullopt;
  std::string_view word = help.substr(blank + 1, end - blank - 1);
  if (word.size() > 1 && word.front() == '"') word = word.substr(1, word.size() - 2);
  if (word != value && word != plain_word(value)) return std::nullopt;
  return Arguments{std::string(help.substr(kMeant.size(), blank - kMeant.size())),
                   std::string(word)};
}

}  // namespace

std::size_t end_of_words(std::string_view help) {
  std::size_t end = help.size();
  for (const std::string_view mark : {", ", ": ", ";", " ("}) end = std::min(end, help.find(mark));
  return end;
}

bool say_value(const Arguments& words, const std::string& value) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const bool is_pair = word.find(',') == std::string::npos && word.ends_with('=' + value);
    return word == value || is_pair;
  });
}

bool is_on(const std::string& value) {
  const std::string word = plain_word(value);
  return value.empty() || word == "true" || word == "on" || word == "yes";
}

bool is_off(const std::string& value) {
  const std::string word = plain_word(value);
  return word == "false" || word == "off" || word == "no" || word == "0";
}

std::string help_where_on(std::string help, const std::string& value) {
  if (!is_off(value) || !help.starts_with(kWrite)) return help;
  const auto words = words_written(help);
  if (words && say_value(*words, value)) return help;
  if (words && (words->back() == "none" || words->back() == "off")) return help;
  return "leave it out where it is off; where it is on, " + help;
}

std::optional<Arguments> words_instead(const UnreadOption& option, const WordIndex& index) {
  if (option.group != nullptr) {
    if (option.group->words.empty()) return std::nullopt;
    return option.name == option.group->names.front() ? option.group->words : Arguments();
  }
  const std::string& help = option.help;
  if (help.starts_with(kMisspelt)) {
    const std::size_t begin = kMisspelt.size() - 2, end = help.find('\'', begin);
    Arguments words{help.substr(begin, end - begin)};
    const bool lacks_value =
        std::any_of(index.rows().begin(), index.rows().end(), [&](const OptionRow& row) {
          return row.takes_value() && row.names.back() == words.front() && option.value.empty();
        });
    if (lacks_value) return std::nullopt;
    if (!option.value.empty()) words.push_back(option.value);
    return words;
  }
  if (auto words = words_meant(help, option.value)) return words;
  if (help.starts_with(kLeave))
    return is_off(option.value) ? std::nullopt : std::optional(Arguments());
  return help.starts_with(kWrite) ? words_written(help) : std::nullopt;
}

}  // namespace penstock
