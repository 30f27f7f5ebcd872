// Which of the known words was meant by one that is none of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// By what other tools call it, or by its spelling: "did you mean 'full'?", or "known: a, b".
std::string help_for_unknown(std::string_view text, const std::vector<std::string>& known);

}  // namespace penstock
