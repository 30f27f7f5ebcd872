#include "cli/options/nearest.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/values/edit_distance.h"

namespace penstock {
namespace {

// "plna" for "plan": one slip, though two replacements.
bool swaps_neighbours(std::string_view word, std::string_view known) {
  if (word.size() != known.size()) return false;
  const auto at = std::mismatch(word.begin(), word.end(), known.begin());
  const auto i = static_cast<std::size_t>(at.first - word.begin());
  return i + 1 < word.size() && word[i] == known[i + 1] && word[i + 1] == known[i] &&
         word.substr(i + 2) == known.substr(i + 2);
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 80;
  for (const std::string& one : known) {
    if (swaps_neighbours(word, one)) return fmt::format("did you mean '{}'?", one);
  }
  const auto begins = [word](const std::string& one) { return one.starts_with(word); };
  const auto longer = std::find_if(known.begin(), known.end(), begins);
  if (word.size() > 3 && std::count_if(known.begin(), known.end(), begins) == 1) {
    return fmt::format("did you mean '{}'?", *longer);
  }
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
