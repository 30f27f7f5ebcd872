#include "cli/nearest.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/edit_distance.h"

namespace penstock {

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
