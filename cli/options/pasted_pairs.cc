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

}  // namespace

std::string pasted_pairs(std::string_view text) {
  const std::vector<std::string> words = words_in(text);
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string key = key_called(words[i]);
    const bool is_number = words[i + 1].find_first_not_of("0123456789") == std::string::npos;
    if (key.empty() || !is_number) return "";
    pairs.push_back(field_word(key) + '=' + words[i + 1]);
  }
  return words.size() % 2 == 0 ? joined(pairs, ",") : "";
}

}  // namespace penstock
