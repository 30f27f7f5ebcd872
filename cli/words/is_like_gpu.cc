#include "cli/words/is_like_gpu.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>

#include "cli/words/field_words.h"

namespace penstock {

bool is_like_gpu(const std::string& word) {
  constexpr std::size_t kMostLetters = 2, kMostDigits = 3;
  const std::string plain = plain_word(word);
  if (plain.starts_with("rtx") || plain.starts_with("gtx")) return true;
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto digits = std::find_if_not(plain.begin(), plain.end(), is_letter);
  const auto rest = std::find_if_not(digits, plain.end(), is_digit);
  const auto letters = static_cast<std::size_t>(digits - plain.begin());
  const auto count = static_cast<std::size_t>(rest - digits);
  const bool ends_so = rest == plain.end() || *rest == '-' || std::next(rest) == plain.end();
  return letters > 0 && letters <= kMostLetters && count > 1 && count <= kMostDigits && ends_so &&
         plain.find_first_of("./=") == std::string::npos;
}

}  // namespace penstock
