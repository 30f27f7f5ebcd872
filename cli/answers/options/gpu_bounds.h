// "--min-gpus 16 --max-gpus 64", as elastic launchers have it: here a range is one option.
#pragma once

#include <optional>

#include "cli/answers/options/launch_counts.h"

namespace penstock {

std::optional<CountsMeant> range_of_gpus(const Arguments& arguments, const Asked& asked);

}  // namespace penstock
