// The step of PyTorch's pipeline CSV with given costs: what `penstock trace FILE.csv` shows.
#pragma once

#include <string>
#include <vector>

#include "cli/reports/synthetic_step.h"

namespace penstock {

// `costs`: the texts of all --cost options. Its trace has no memory: no bytes are known.
// Error{kMissingResource} in a program without the planner.
SyntheticStep step_of_csv(const std::string& path, const std::vector<std::string>& costs);

}  // namespace penstock
