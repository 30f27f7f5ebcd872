// Sentences for options that people expect of their tools and that have no option here.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace penstock {

// Words that need more than another name. `of`: an option that a verb has to whom this is said;
// empty: to all. The first row that fits is said.
struct Remark {
  std::array<std::string_view, 14> typed;
  std::string_view help;
  std::string_view of{};
};

std::span<const Remark> option_remarks();

}  // namespace penstock
