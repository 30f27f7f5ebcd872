// Options that ask for the opposite or for a part of something: no misspelt ones. Each is a
// sentence for "help:", or empty.
#pragma once

#include <string>

#include "cli/answers/options/option_readings.h"

namespace penstock {

// "no-pipeline", "disable-zero", and "tp-range".
std::string help_for_denied(const std::string& plain, const Asked& asked);
// "min-mfu", "max-memory": what no flag of a trainer and no option is near is said last.
std::string help_for_filter(const std::string& plain, const Asked& asked);

}  // namespace penstock
