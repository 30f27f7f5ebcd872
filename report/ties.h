// Which plans are as good as the first one, in words: the same in the answer and in the report.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// "Plans 2 and 3 tie with plan 1"; empty when none does.
std::string ties_with_first(const std::vector<int>& plans);

}  // namespace penstock
