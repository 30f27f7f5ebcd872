// A measured run of a plan, from what people have: the log of `penstock train`, or a folder of
// PyTorch's profiler traces.
#pragma once

#include <string>
#include <vector>

#include "cli/files.h"
#include "core/run_log.h"

namespace penstock {

struct LoadedRun {
  RunLog log;
  std::vector<std::string> notes;  // how traces differ from the plan
  bool is_traces = false;          // they name no plan, and few steps are recorded
};

// `path` is a file (penstock.run/1) or a folder with the *.json traces of one run, one per rank.
LoadedRun load_run(const std::string& path, const Loaded<PlanFile>& plan);

// Error{kBadInput} when the run at `path` names another plan file.
void require_same_plan(const Loaded<PlanFile>& plan, const RunLog& run, const std::string& path);

}  // namespace penstock
