#include "cli/options/layout_in_prose.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/layout_keys.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

// "8 gpus" and "batch 4" of a layout in words; 0 where it says neither.
struct CountsInProse {
  std::int64_t gpus = 0, batch = 0;
};

// The pairs among the words, and the counts; nothing where a word is none of these.
std::optional<std::vector<std::string>> pairs_in_words(const std::vector<std::string>& words,
                                                       CountsInProse& counts) {
  constexpr std::size_t kMostDigits = 7;
  std::vector<std::string> pairs;
  std::int64_t number = 0;
  std::string thing;
  const auto take = [&] {
    if (number == 0 || thing.empty()) return;
    (thing == "gpus" ? counts.gpus : counts.batch) = number;
    number = 0;
    thing.clear();
  };
  for (const std::string& word : words) {
    const std::string plain = plain_word(word);
    if (word.find('=') != std::string::npos) {
      pairs.push_back(word);
    } else if (const std::string pair = pair_called(word); !pair.empty()) {
      pairs.push_back(pair);
    } else if (is_digits(word) && word.size() <= kMostDigits && number == 0) {
      number = std::stoll(word);
      take();
    } else if (is_among({"gpus", "gpu", "devices", "cards", "ranks", "batch", "bs", "batch-size",
                         "global-batch"},
                        plain)) {
      if (!thing.empty()) return std::nullopt;
      thing = plain.find('b') == std::string::npos ? "gpus" : "batch";
      take();
    } else if (!is_among({"on", "with", "and", "of", "x", "size", "over", "at"}, plain)) {
      return std::nullopt;
    }
  }
  return number == 0 && thing.empty() ? std::optional(pairs) : std::nullopt;
}

int degree_in(const std::vector<std::string>& pairs, std::string_view key) {
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (key_named(pair.substr(0, equals)) != key || !is_digits(pair.substr(equals + 1))) continue;
    return pair.size() - equals < 8 ? std::stoi(pair.substr(equals + 1)) : 0;
  }
  return 0;
}

}  // namespace

std::string layout_in_prose(const std::vector<std::string>& words) {
  CountsInProse counts;
  auto pairs = pairs_in_words(words, counts);
  if (!pairs || (counts.gpus == 0 && counts.batch == 0)) return "";
  std::int64_t others = 1, replicas = degree_in(*pairs, "DP");
  for (const std::string_view key : {"TP", "CP", "PP"})
    others *= std::max(1, degree_in(*pairs, key));
  if (replicas == 0 && counts.gpus > 0 && others > 0 && counts.gpus % others == 0) {
    replicas = counts.gpus / others;
    pairs->push_back(fmt::format("DP={}", replicas));
  }
  if (counts.batch > 0 && counts.batch < replicas) {
    pairs->push_back(fmt::format("mbs={} gbs={}", counts.batch, counts.batch * replicas));
  } else if (counts.batch > 0) {
    pairs->push_back(fmt::format("gbs={}", counts.batch));
  }
  return joined(*pairs, " ");
}

}  // namespace penstock
