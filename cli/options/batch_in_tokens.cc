#include "cli/options/batch_in_tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "cli/options/global_batch.h"
#include "cli/options/layout_keys.h"
#include "cli/words/field_words.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

// "4M", "4194304", "512k tokens": more than any step has samples, so they are tokens.
std::optional<double> tokens_in(const std::string& value) {
  const std::string plain = plain_word(value);
  const std::size_t unit = plain.find("tok");
  const bool says_tokens = unit != std::string::npos;
  const std::string number = plain.substr(0, unit);
  double tokens = 0.0;
  const std::size_t end = std::min(number.find_first_not_of("0123456789."), number.size());
  const auto result = std::from_chars(number.data(), number.data() + end, tokens);
  if (result.ec != std::errc() || result.ptr != number.data() + end) return {};
  const std::string suffix = number.substr(end);
  constexpr double kKilo = 1024.0;
  if (suffix == "k") tokens *= kKilo;
  if (suffix == "m") tokens *= kKilo * kKilo;
  const bool is_read = suffix.empty() || suffix == "k" || suffix == "m";
  return is_read && (says_tokens || tokens > kMostSamples || suffix == "m") ? std::optional(tokens)
                                                                            : std::nullopt;
}

}  // namespace

void refuse_batch_in_tokens(std::string_view option, const std::string& value,
                            const std::vector<std::string>& words) {
  const auto tokens = tokens_in(value);
  if (!tokens) return;
  double length = 0.0;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || key_named(word.substr(0, equals)) != "seq") continue;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(), length);
  }
  const bool says_length = length > 0.0;
  constexpr double kUsualLength = 8192.0;
  if (!says_length) length = kUsualLength;
  const double samples = std::max(1.0, std::round(*tokens / length));
  std::string written;
  for (const std::string& word : words) {
    const bool is_batch = key_named(word.substr(0, word.find('='))) == "gbs";
    written +=
        (written.empty() ? "" : " ") + (is_batch ? fmt::format("gbs={:.0f}", samples) : word);
  }
  if (!says_length) written += fmt::format(" seq={:.0f}", length);
  bad_option(
      option,
      fmt::format("gbs = '{}' is a number of tokens, and samples are counted", value.substr(0, 60)),
      fmt::format("divide by seq: {:.0f} / {:.0f}{} are {:.0f} samples: {} \"{}\"", *tokens, length,
                  says_length ? "" : " tokens, if samples are so long,", samples, option, written));
}

}  // namespace penstock
