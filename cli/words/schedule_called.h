// A schedule by any name that people have for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// In any spelling that schedule_spelled() knows. Error{kBadInput}, which names `option`, when there
// is none. `list`: of which it is a part, "1f1b,zero-bubble".
std::string schedule_called(std::string_view option, std::string_view typed,
                            std::string_view list = "");

// What somebody may mean who names a whole family: "zero-bubble", "bidirectional"; the plainest
// first.
std::vector<std::string> schedules_of_family(std::string_view typed);

// Whether it is a word for the schedules of learning rates or of jobs, which no pipeline has.
bool is_schedule_of_other_field(std::string_view typed);

}  // namespace penstock
