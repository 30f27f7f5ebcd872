// A measured run of a plan, from what people have: the log of `penstock train`, that of another
// trainer, or a folder of PyTorch's profiler traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/io/files.h"
#include "core/values/run_log.h"
#include "core/values/timeline.h"
#include "report/validation.h"
#include "trainers/logs/trainer_log.h"

namespace penstock {

struct LoadedRun {
  RunLog log;
  std::vector<std::string> notes;  // how traces differ from the plan, what a log leaves open
  bool is_traces = false;          // they name no plan, and few steps are recorded
  // Of another trainer's log, which names no plan either: its warm-up is left out already.
  bool is_trainer_log = false;
  std::int64_t warm_up_steps = 0, steps_per_mean = 1;
  std::vector<LoggedMemory> memory;

  [[nodiscard]] bool names_plan() const { return !is_traces && !is_trainer_log; }
};

// `path` is a file (penstock.run/1, or a log of Megatron-LM or torchtitan) or a folder with the
// *.json traces of one run, one per rank.
LoadedRun load_run(const std::string& path, const Loaded<PlanFile>& plan,
                   const LogOptions& options = {});

// Of a run that names its plans: leaves out the steps that ran under others than `plan`, and says
// so in the notes. Error{kBadInput} when none ran under it, unless `any_plan`: then those of the
// run's first plan are kept.
void keep_steps_of(const Loaded<PlanFile>& plan, LoadedRun& run, const std::string& path,
                   bool any_plan);

// The run laid over the plan's replay, with what only another trainer's log says. `path` is for
// messages.
Validation compared(const PlanFile& plan, const Timeline& predicted, const LoadedRun& run,
                    const ValidationOptions& settings, const std::string& path);

// How many steps at the beginning of the run do not count, for every verb that shows a run: `asked`
// where it is given; else 3 steps, of traces 1, and always fewer than there are. A trainer's log
// has left them out already.
int warm_up_of(const LoadedRun& run, const std::optional<int>& asked = {});

// Of the steps that hold when every action ran the one that --step names, else the one with the
// median time after the warm-up: one of those that `validate` compares with.
// Error{kBadInput} when there is none.
const MeasuredStep& shown_step(const LoadedRun& run, const std::string& path,
                               const std::optional<std::string>& step);

}  // namespace penstock
