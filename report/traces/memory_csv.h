// Memory over time as a table for other programs.
#pragma once

#include <string>

#include "report/traces/step_trace.h"

namespace penstock {

// A row for every moment at which what a rank holds changes: "rank,pipeline_rank,replicas,time_ns,
// activation_bytes,total_bytes,capacity_bytes". Ranks that do the same are there once, with how
// many of them there are; a rank keeps a row's bytes until its next one.
std::string memory_csv(const StepTrace& trace);

}  // namespace penstock
