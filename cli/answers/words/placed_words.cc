#include "cli/answers/words/placed_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/is_digits.h"
#include "cli/words/is_like_gpu.h"
#include "report/words.h"

namespace penstock {
namespace {

// "on 64 h100 gpus".
bool says_nothing(const std::string& word) {
  constexpr std::array<std::string_view, 14> kWords{"on",     "with", "using", "and",    "vs",
                                                    "versus", "x",    "gpu",   "gpus",   "for",
                                                    "at",     "of",   "to",    "against"};
  return std::find(kWords.begin(), kWords.end(), plain_word(word)) != kWords.end();
}

// "2 x 8" as 16; empty where a number is too long to be one of GPUs.
std::string product(const std::string& a, const std::string& b) {
  constexpr std::size_t kMostDigits = 6;
  if (a.size() > kMostDigits || b.size() > kMostDigits) return "";
  return std::to_string(std::stoll(a) * std::stoll(b));
}

// "2 x 8 h100" as "16 h100".
Arguments with_products(const Arguments& words) {
  Arguments out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_product = words[i] == "x" && !out.empty() && is_digits(out.back()) &&
                            i + 1 < words.size() && is_digits(words[i + 1]);
    if (is_product) {
      out.back() = product(out.back(), words[++i]);
    } else {
      out.push_back(words[i]);
    }
  }
  return out;
}

bool is_given(const Arguments& given, std::string_view option) {
  return std::find(given.begin(), given.end(), option) != given.end();
}

// "8xh100": 8 is there, and the rest is a GPU.
std::size_t end_of_count(const std::string& word) {
  const std::size_t mark = word.find_first_not_of("0123456789");
  const bool is_counted = mark != std::string::npos && mark > 0 && word.size() > mark + 1 &&
                          (word[mark] == 'x' || word[mark] == '*') &&
                          is_like_gpu(word.substr(mark + 1));
  return is_counted ? mark : 0;
}

// "h100x8", "h100:8": where the 8 begins.
std::size_t begin_of_count(const std::string& word) {
  const std::size_t begin = word.find_last_not_of("0123456789") + 1;
  const bool is_counted = begin > 1 && begin < word.size() &&
                          std::string_view("x*:").find(word[begin - 1]) != std::string_view::npos &&
                          is_like_gpu(word.substr(0, begin - 1));
  return is_counted ? begin : 0;
}

}  // namespace

std::optional<Arguments> words_as_options(const Arguments& words, const Arguments& given,
                                          const Asked& asked) {
  Arguments gpus, numbers, out;
  Arguments pairs;
  for (const std::string& word : with_products(words)) {
    if (says_nothing(word)) continue;
    if (const std::size_t equals = word.find('='); equals != std::string::npos && equals > 0) {
      const MeantOption meant = meant_option("--" + word.substr(0, equals), word.substr(equals + 1),
                                             asked.known, asked.remarks, asked.index);
      if (!meant.help.empty() || !asked.has(meant.words.front())) return std::nullopt;
      pairs.insert(pairs.end(), meant.words.begin(), meant.words.end());
      continue;
    }
    if (const std::size_t begin = begin_of_count(word); begin > 0) {
      gpus.push_back(word.substr(0, begin - 1));
      numbers.push_back(word.substr(begin));
      continue;
    }
    if (const std::size_t end = end_of_count(word); end > 0) {
      numbers.push_back(word.substr(0, end));
      gpus.push_back(word.substr(end + 1));
    } else if (is_digits(word)) {
      numbers.push_back(word);
    } else if (is_like_gpu(word)) {
      gpus.push_back(word);
    } else {
      return std::nullopt;
    }
  }
  const bool are_varied = gpus.size() > 1;
  // "h100 64 a100 128": GPUs of each.
  if (are_varied && (!asked.has("--vary") || numbers.size() > 1)) return std::nullopt;
  if (are_varied) out = {"--vary", "device=" + joined(gpus, ",")};
  if (gpus.size() == 1) {
    if (!asked.has("--device") || is_given(given, "--device")) return std::nullopt;
    out = {"--device", gpus.front()};
  }
  auto next = numbers.begin();
  for (const char* option : {"--gpus", "--global-batch"}) {
    if (next == numbers.end()) break;
    if (!asked.has(option) || is_given(given, option)) continue;
    out.insert(out.end(), {option, *next++});
  }
  if (next != numbers.end() || out.empty()) return std::nullopt;
  out.insert(out.end(), pairs.begin(), pairs.end());
  return out;
}

}  // namespace penstock
