#include "cli/options/pasted_pairs.h"

#include <algorithm>
#include <vector>

#include "cli/options/field_words.h"
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
  const auto key_before = [](const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::vector<std::string> end(words.begin() + static_cast<std::ptrdiff_t>(i),
                                         words.end());
      if (std::string key = key_called(joined(end, "-")); !key.empty()) return key;
    }
    return std::string();
  };
  std::vector<std::string> before, pairs;
  for (std::string word : words_in(text)) {
    while (word.size() > 1 && std::string_view("?!.").find(word.back()) != std::string_view::npos)
      word.pop_back();
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    const std::string together = is_number ? "" : pasted_pairs(word);  // "tp8"
    if (!together.empty()) pairs.push_back(together);
    const std::string key = is_number ? key_before(before) : "";
    if (!key.empty()) pairs.push_back(field_word(key) + '=' + word);
    if (is_number) {
      before.clear();
    } else {
      before.push_back(std::move(word));
    }
  }
  return joined(pairs, ",");
}

}  // namespace penstock
