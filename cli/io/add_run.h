// A measured run joins a file of runs, which penstock calibrate fits an executor model to.
#pragma once

#include <string>

#include "core/values/plan_file.h"
#include "core/values/run_log.h"
#include "report/validation.h"

namespace penstock {

// Makes the file where there is none. Error{kBadInput} when it holds runs of another profile or
// cluster, or this very run already. `source`: who measured it, where and when.
void add_run(const std::string& path, const PlanFile& plan, const RunHeader& run,
             const Validation& validation, const std::string& source);

}  // namespace penstock
