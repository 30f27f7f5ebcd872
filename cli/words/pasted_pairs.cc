#include "cli/words/pasted_pairs.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

// What lies between signs; the dashes before an option say nothing.
std::vector<std::string> words_in(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n{}[]\"':,;=";
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(kBetween, begin);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t dashes = word.find_first_not_of('-');
    if (dashes != std::string_view::npos) words.emplace_back(word.substr(dashes));
    begin = end;
  }
  return words;
}

// "tp2pp4dp8", "TP8_PP4", "TP8xPP4": letters, then digits, again and again; or nothing.
std::vector<std::string> words_run_together(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789", kBetween = "xX_-*. ";
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t digit = text.find_first_of(kDigits);
    if (digit == std::string_view::npos) return {};
    std::string_view key = text.substr(0, digit);
    while (!words.empty() && !key.empty() && key_called(key).empty() &&
           kBetween.find(key.front()) != std::string_view::npos) {
      key.remove_prefix(1);
    }
    const std::size_t end = std::min(text.find_first_not_of(kDigits, digit), text.size());
    words.emplace_back(key);
    words.emplace_back(text.substr(digit, end - digit));
    text.remove_prefix(end);
  }
  return words;
}

// "schedule=gpipe" and "tp=8" as they stand, the latter as "TP=8"; empty of anything else.
std::string pair_kept(std::string_view typed) {
  typed.remove_prefix(std::min(typed.find_first_not_of('-'), typed.size()));
  const std::size_t equals = typed.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == typed.size()) return "";
  const std::string key = key_called(typed.substr(0, equals));
  return (key.empty() ? std::string(typed.substr(0, equals)) : field_word(key)) +
         std::string(typed.substr(equals));
}

// The key that the last words name, of "why not pipeline model parallel size".
std::string key_at_end(const std::vector<std::string>& words) {
  constexpr std::size_t kMostWords = 6;  // no name of a key has more
  for (std::size_t count = std::min(words.size(), kMostWords); count > 0; --count) {
    const std::vector<std::string> end(words.end() - static_cast<std::ptrdiff_t>(count),
                                       words.end());
    if (std::string key = key_called(joined(end, "-")); !key.empty()) return key;
  }
  return "";
}

}  // namespace

std::string pasted_pairs(std::string_view text) {
  std::vector<std::string> words = words_in(text);
  if (words.size() == 1) words = words_run_together(words[0]);
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string key = key_called(words[i]);
    const bool is_number = words[i + 1].find_first_not_of("0123456789") == std::string::npos;
    if (key.empty() || !is_number) return "";
    pairs.push_back(field_word(key) + '=' + words[i + 1]);
  }
  return words.size() % 2 == 0 ? joined(pairs, ",") : "";
}

std::string pairs_in_prose(std::string_view text) {
  constexpr std::string_view kBetween = " \t\r\n{}[]\"',;", kEnds = "?!.:";
  std::vector<std::string> before, pairs;
  for (std::size_t begin = text.find_first_not_of(kBetween); begin < text.size();
       begin = text.find_first_not_of(kBetween, begin)) {
    const std::size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    std::string_view typed = text.substr(begin, end - begin);
    begin = end;
    while (typed.size() > 1 && kEnds.find(typed.back()) != std::string_view::npos) {
      typed.remove_suffix(1);
    }
    if (std::string pair = pair_kept(typed); !pair.empty()) {
      pairs.push_back(std::move(pair));
      before.clear();
      continue;
    }
    for (std::string& word : words_in(typed)) {
      const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number) {
        // "tp8", "gpipe"
        const std::string together = pasted_pairs(word), pair = pair_called(word);
        if (!together.empty() || !pair.empty()) pairs.push_back(together.empty() ? pair : together);
        before.push_back(std::move(word));
        continue;
      }
      const std::string key = key_at_end(before);
      if (key.empty()) return "";  // a number that would be lost
      pairs.push_back(field_word(key) + '=' + word);
      before.clear();
    }
  }
  return joined(pairs, ",");
}

std::string degree_in_prose(std::string_view text) {
  for (std::string word : words_in(text)) {
    word = plain_word(word.substr(0, word.find_first_of("?!.")));
    const std::string key = word.size() > 1 ? key_called(word.substr(0, word.find('-'))) : "";
    const bool is_degree = key.size() == 1 && key != "b" && key != "M";
    if (is_degree) return field_word(key) + "=2";
  }
  return "";
}

bool can_be_pinned(std::string_view pairs) {
  for (std::size_t begin = 0; begin < pairs.size();) {
    const std::size_t end = std::min(pairs.find(',', begin), pairs.size());
    const std::string_view pair = pairs.substr(begin, end - begin);
    const std::string key = key_called(pair.substr(0, pair.find('=')));
    // Micro-batches follow, and the others have options of their own.
    if (key.empty() || key == "M" || key == "global-batch" || key == "sequence-length") {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

std::string pairs_as_options(std::string_view pairs) {
  std::vector<std::string> options, pins;
  for (const std::string& pair : parse_list("--pin", pairs)) {
    const std::size_t equals = pair.find('=');
    const std::string key = key_or_word(pair.substr(0, equals));
    const bool is_pin = can_be_pinned(pair) || plain_word(key) == "fsdp" || key == "offload";
    if (is_pin) {
      pins.push_back(pair);
    } else {
      options.push_back(fmt::format("--{} {}", key, pair.substr(equals + 1)));
    }
  }
  if (!pins.empty()) options.push_back("--pin " + joined(pins, ","));
  return joined(options, " ");
}

}  // namespace penstock
