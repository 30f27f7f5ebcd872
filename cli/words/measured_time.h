// The time of a step as people read it off a log or a progress bar. What is no time but makes one,
// such as a rate, is refused with the arithmetic.
#pragma once

#include <string>

#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

inline constexpr const char* kMeasured = "--measured";

// The time alone as it is written here: "4.4secs", "2.4s/it" and "2 min" as "4.4s", "2.4s" and
// "120s"; empty of what is no time.
std::string plain_step_time(const std::string& typed);

// --measured with that time, behind the layout where there is one.
std::string measured_option(const std::string& layout, const std::string& time);

// `typed` stands behind the layout `name`, or alone where that is empty. Error{kBadInput}, which
// says what to write for a step of `plan`.
Duration step_time_of(const std::string& typed, const std::string& name, const Plan& plan);

}  // namespace penstock
