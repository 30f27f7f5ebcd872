// Which known word a typing error was meant to be: the nearest, if few slips lie between.
#include "cli/words/near_words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "cli/words/parse.h"

namespace penstock {

std::size_t slips_between(std::string_view word, std::string_view known) {
  const std::size_t columns = known.size() + 1;
  std::vector<std::size_t> table((word.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * columns + j];
  };
  for (std::size_t i = 0; i <= word.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= known.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= word.size(); ++i) {
    for (std::size_t j = 1; j <= known.size(); ++j) {
      const std::size_t other = word[i - 1] == known[j - 1] ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + other});
      const bool is_swap =
          i > 1 && j > 1 && word[i - 1] == known[j - 2] && word[i - 2] == known[j - 1];
      if (is_swap) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(word.size(), known.size());
}

namespace {

// "zero4", "h300-sxm": which of those that differ in a number is anybody's guess.
std::string numbered_alike(std::string_view word, const std::vector<std::string>& known) {
  const auto without_digits = [](std::string_view text) {
    std::string out;
    for (const char c : text) out.push_back(std::isdigit(static_cast<unsigned char>(c)) ? '#' : c);
    return out;
  };
  const std::string letters = without_digits(word);
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> alike;
  std::size_t least = word.size();
  for (const std::string& each : known) {
    const bool has_digits = letters.find('#') != std::string::npos;
    if (!has_digits || without_digits(each) != letters) continue;
    const std::size_t slips = slips_between(word, each);
    if (slips < least) alike.clear();
    least = std::min(least, slips);
    if (slips == least) alike.push_back('\'' + each + '\'');
  }
  if (alike.size() < 2 || alike.size() > kMostNamed) return "";
  const std::string last = alike.back();
  alike.pop_back();
  return fmt::format("did you mean {} or {}?", fmt::join(alike, ", "), last);
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 80, kShort = 5, kMostSlips = 3;
  const auto begins = [word](const std::string& one) { return one.starts_with(word); };
  const auto longer = std::find_if(known.begin(), known.end(), begins);
  if (word.size() > 3 && std::count_if(known.begin(), known.end(), begins) == 1) {
    return fmt::format("did you mean '{}'?", *longer);
  }
  if (std::string alike = numbered_alike(word, known); !alike.empty()) return alike;
  if (!known.empty() && word.size() <= kLongest) {
    const auto nearest = std::min_element(known.begin(), known.end(),
                                          [word](const std::string& a, const std::string& b) {
                                            return slips_between(word, a) < slips_between(word, b);
                                          });
    const bool extends = nearest->starts_with(word) ||
                         (word.starts_with(*nearest) && nearest->size() * 2 >= word.size());
    // Two slips in a short word make another word, unless it begins alike.
    const bool is_short = word.size() <= kShort && !word.empty() && word[0] != (*nearest)[0];
    const std::size_t most =
        std::clamp<std::size_t>((word.size() + 1) / 3, 1, is_short ? 1 : kMostSlips);
    if (slips_between(word, *nearest) <= most || (extends && word.size() > 1)) {
      return fmt::format("did you mean '{}'?", *nearest);
    }
  }
  return fmt::format("known: {}", fmt::join(known, ", "));
}

namespace {

// What other tools call one of the words that an option takes; the first row whose word it knows.
struct OtherWord {
  std::string_view typed, word;
};
constexpr std::array kOtherWords{
    OtherWord{"chrome", "perfetto"},
    OtherWord{"chrome-trace", "perfetto"},
    OtherWord{"json", "perfetto"},
    OtherWord{"trace", "perfetto"},
    OtherWord{"tensorboard", "kineto"},
    OtherWord{"pytorch", "kineto"},
    OtherWord{"torch", "kineto"},
    OtherWord{"hta", "kineto"},
    OtherWord{"pdf", "svg"},
    OtherWord{"jpg", "png"},
    OtherWord{"jpeg", "png"},
    OtherWord{"md", "markdown"},
    OtherWord{"latex", "markdown"},
    OtherWord{"tex", "markdown"},
    OtherWord{"tsv", "csv"},
    OtherWord{"excel", "csv"},
    OtherWord{"xlsx", "csv"},
    OtherWord{"table", "text"},
    OtherWord{"txt", "text"},
    OtherWord{"plain", "text"},
    OtherWord{"human", "text"},
    OtherWord{"yaml", "json"},
    OtherWord{"jsonl", "json"},
    OtherWord{"annotations", "github"},
    OtherWord{"sarif", "github"},
    OtherWord{"adam", "adamw"},
    OtherWord{"full-duplex", "duplex"},
    OtherWord{"half-duplex", "simplex"},
    OtherWord{"fully_shard", "fsdp"},
    OtherWord{"full_shard", "fsdp"},
    OtherWord{"shard_grad_op", "zero2"},
    OtherWord{"no_shard", "none"},
    OtherWord{"off", "none"},
    OtherWord{"no", "none"},
    OtherWord{"false", "none"},
    OtherWord{"true", "full"},
    OtherWord{"yes", "full"},
    OtherWord{"on", "full"},
    OtherWord{"blocking", "sender-blocks"},
    OtherWord{"async", "ideal"},
    OtherWord{"sync", "rendezvous"},
};

}  // namespace

namespace {

// "csv,markdown", "json+csv": several words where one belongs; the first of them.
std::string first_of_several(std::string_view text, const std::vector<std::string>& known) {
  std::string first;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= text.size(); ++count) {
    const std::size_t end = std::min(text.find_first_of(",+|/;", at), text.size());
    const std::string part(text.substr(at, end - at));
    if (std::find(known.begin(), known.end(), part) == known.end()) return "";
    if (first.empty()) first = part;
    at = end + 1;
  }
  return count > 1 ? first : "";
}

}  // namespace

std::string help_for_unknown(std::string_view text, const std::vector<std::string>& known) {
  for (const OtherWord& other : kOtherWords) {
    if (other.typed != text) continue;
    if (std::find(known.begin(), known.end(), other.word) == known.end()) continue;
    return fmt::format("did you mean '{}'?", other.word);
  }
  return did_you_mean(text, known);
}

void unknown_word(std::string_view option, std::string_view text,
                  const std::vector<std::string>& known, std::string_view what) {
  const std::string several = option.starts_with("--") ? first_of_several(text, known) : "";
  bad_option(option, fmt::format("unknown {}'{}'", what, text.substr(0, 60)),
             several.empty() ? help_for_unknown(text, known)
                             : fmt::format("one at a time: {} {}", option, several));
}

}  // namespace penstock
