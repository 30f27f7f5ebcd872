// How far apart two words are, for messages that guess what somebody meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace penstock {

// Levenshtein's distance: insertions, deletions and replacements of single bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace penstock
