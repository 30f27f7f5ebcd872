#include "cli/answers/commands/command_meant.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/words_instead.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "report/words.h"

namespace penstock {
namespace {

// How many arguments without a name the verb takes, less those that were read; below 0 where there
// are too many.
int places_left(const Arguments& read, const WordIndex& index) {
  int places = 0;
  for (const OptionRow& row : index.rows()) places += row.positional ? 1 : 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i].starts_with('-')) {
      --places;
      continue;
    }
    i += index.takes_value(read[i]) ? 1 : 0;
  }
  return places;
}

// "--no-cache config.json", "--zero-3 gpipe": whether the word behind it, which its own words do
// not say, is its value or the argument without a name.
enum class Behind { kValue, kArgument, kUnknown };
Behind behind(const UnreadOption& option, int places) {
  if (!option.takes_next || is_on(option.value)) return Behind::kValue;
  if (places <= 0) return Behind::kValue;
  std::error_code error;
  return std::filesystem::exists(option.value, error) ? Behind::kArgument : Behind::kUnknown;
}

// The words in its place, with the argument that stands behind it; `places`: see places_left().
std::optional<Arguments> words_with_argument(const UnreadOption& option, const WordIndex& index,
                                             int& places) {
  std::optional<Arguments> words = words_instead(option, index);
  const bool is_left = option.help.starts_with(kLeave),
             is_written = option.help.starts_with(kWrite);
  if (!words || option.group != nullptr || (!is_left && !is_written)) return words;
  if (is_written && (is_on(option.value) || say_value(*words, option.value))) return words;
  switch (behind(option, places)) {
    case Behind::kUnknown:
      return std::nullopt;
    case Behind::kArgument:
      words->push_back(option.value);
      --places;
      return words;
    case Behind::kValue:
      break;
  }
  return is_left ? words : std::nullopt;
}

// "--pin T=8", as it is kept, in the words of the field.
std::string in_field_word(const Arguments& read, std::size_t i) {
  const std::size_t equals = read[i].find('=');
  const bool is_pair = i > 0 && read[i - 1] == "--pin" && equals != std::string::npos &&
                       read[i].find(',') == std::string::npos;
  return is_pair ? field_word(read[i].substr(0, equals)) + read[i].substr(equals) : read[i];
}

// The pairs of all --layout: degrees that were typed as options of their own have one each.
std::string pairs_of_layout(const Arguments& words) {
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--layout") pairs.push_back(words[i + 1]);
  }
  return joined(pairs, " ");
}

Arguments with_one_layout(const Arguments& words) {
  Arguments out;
  bool is_first = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--layout" || i + 1 == words.size()) {
      out.push_back(words[i]);
      continue;
    }
    if (is_first) out.insert(out.end(), {"--layout", pairs_of_layout(words)});
    is_first = false;
    ++i;
  }
  return out;
}

}  // namespace

bool begins_with_argument(const Arguments& words) {
  return !words.empty() && !words.front().starts_with('-');
}

std::vector<const UnreadOption*> named_arguments(const std::vector<UnreadOption>& unread,
                                                 const Arguments& read) {
  std::vector<const UnreadOption*> found;
  const bool has_first = begins_with_argument(read);
  for (const std::string_view place : {"MODEL ", "CONFIG ", "PLAN ", "RUN "}) {
    for (const UnreadOption& each : unread) {
      const bool is_it = each.help.starts_with(place) && !each.value.empty() &&
                         each.help.find(kNameless) != std::string::npos;
      if (is_it && !has_first) found.push_back(&each);
    }
  }
  return found;
}

Arguments words_meant(const std::vector<UnreadOption>& unread, const Arguments& read,
                      const Asked& asked) {
  if (unread.size() >= kMostUnread) return {};  // more may follow
  Arguments words;
  int places = places_left(read, asked.index());
  if (places < 0) return {};  // "manage start plan.json"
  std::set<std::string> names;
  const auto add = [&](const Arguments& some) {
    for (const std::string& word : some) {
      const bool may_repeat = word == "--pin" || word == "--layout";
      const bool is_new = !word.starts_with("--") || may_repeat || names.insert(word).second;
      if (!is_new) return false;
      words.push_back(word);
    }
    return true;
  };
  const std::vector<const UnreadOption*> arguments = named_arguments(unread, read);
  for (const UnreadOption* argument : arguments) words.push_back(argument->value);
  auto next = unread.begin();
  for (std::size_t i = 0; i <= read.size(); ++i) {
    for (; next != unread.end() && next->at == i; ++next) {
      if (std::find(arguments.begin(), arguments.end(), &*next) != arguments.end()) continue;
      const auto instead = words_with_argument(*next, asked.index(), places);
      if (!instead || !add(*instead)) return {};
    }
    if (i < read.size() && !add({in_field_word(read, i)})) return {};
  }
  return with_one_layout(words);
}

std::string with_whole_layout(const std::string& help, const Arguments& read) {
  constexpr std::string_view kLayout = "write --layout ", kMore = "\"... ";
  const std::string pairs = pairs_of_layout(read);
  if (!help.starts_with(kLayout) || pairs.empty()) return help;
  const bool is_quoted = help.compare(kLayout.size(), kMore.size(), kMore) == 0;
  const std::size_t begin = kLayout.size() + (is_quoted ? kMore.size() : 0),
                    end = is_quoted ? help.find('"', begin) : end_of_words(help);
  return fmt::format("{}\"{} {}\"{}", kLayout, pairs, help.substr(begin, end - begin),
                     help.substr(is_quoted ? end + 1 : end));
}

}  // namespace penstock
