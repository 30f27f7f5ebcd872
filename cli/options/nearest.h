// What somebody meant who mistyped a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// "did you mean 'plan'?", or "known: plan, check" when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace penstock
