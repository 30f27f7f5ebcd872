// The schedule that a name means in some spelling.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Letters and digits alone, in lower case.
std::string letters_and_digits(std::string_view typed);

// In any case, with or without hyphens, or by the name that PyTorch (ScheduleZBVZeroBubble),
// Megatron or a paper has for it; empty when there is none.
std::string_view schedule_spelled(std::string_view typed);

}  // namespace penstock
