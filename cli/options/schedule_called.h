// A schedule by any name that people have for it.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// The schedule that has this name in some spelling, or nothing.
std::string_view schedule_spelled(std::string_view typed);

// In any case, with or without hyphens, or by the name that PyTorch (ScheduleZBVZeroBubble),
// Megatron or a paper has for it. Error{kBadInput}, which names `option`, when there is none.
std::string schedule_called(std::string_view option, std::string_view typed);

}  // namespace penstock
