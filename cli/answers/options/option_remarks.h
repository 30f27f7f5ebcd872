// What is said of names that other tools have for options, where another name (option_targets.h) is
// not enough: a sentence for every spelling that was seen. Its rows are certain, and those of
// option_concepts.h, which go by single words of a name, are looked at only where none fits.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace penstock {

// Words that need more than another name. `of`: an option that a verb has to whom this is said;
// empty: to all. The first row that fits is said.
struct Remark {
  std::array<std::string_view, 24> typed;
  std::string_view help;
  std::string_view of{};
};
const std::vector<Remark>& option_remarks();

}  // namespace penstock
