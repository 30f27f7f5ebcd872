// "--objective cheapest", "--minimize memory": what plans are ranked by, and how one asks for what
// was wished instead.
#pragma once

#include <string>

#include "cli/answers/options/option_readings.h"

namespace penstock {

// Of an option that names an aim, or is one; empty of any other, and of verbs that rank no plans.
std::string help_for_objective(const std::string& word, const std::string& value,
                               const Asked& asked);

}  // namespace penstock
