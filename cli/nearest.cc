#include "cli/nearest.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace penstock {
namespace {

// Levenshtein's distance, the rows of the usual table one at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 80;
  if (!known.empty() && word.size() <= kLongest) {
    const auto nearest = std::min_element(known.begin(), known.end(),
                                          [word](const std::string& a, const std::string& b) {
                                            return edit_distance(word, a) < edit_distance(word, b);
                                          });
    const bool extends = nearest->starts_with(word) || word.starts_with(*nearest);
    const std::size_t most = std::max<std::size_t>(1, word.size() / 3);
    if (edit_distance(word, *nearest) <= most || (extends && word.size() > 1)) {
      return fmt::format("did you mean '{}'?", *nearest);
    }
  }
  return fmt::format("known: {}", fmt::join(known, ", "));
}

}  // namespace penstock
