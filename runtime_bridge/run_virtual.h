// A plan carried out in real time by ranks that sleep: the executor and the order of the plan as a
// real run has them, with the plan's prices for compute, transfers, reductions and optimizer, and
// without a model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/run_log.h"
#include "core/values/units.h"
#include "runtime_bridge/run_rank.h"
#include "training/virtual_work.h"

namespace penstock {

struct VirtualRunOptions {
  std::int64_t steps = 1;
  bool timeline = true;
  // Every price times this, and every measured time divided by it again: how late a sleeping thread
  // wakes up (some 0.1 ms) counts for less.
  std::int64_t stretch = 1;
  Duration time_out = std::chrono::minutes(5);  // of each wait, not stretched
  // Nobody sleeps: the clock of the ranks jumps from event to event. Every time is then what the
  // order and the prices make it, to the nanosecond, and the time-out is not needed.
  bool jumps = false;
  RunControl* control = nullptr;          // of all ranks, asked by all of their threads
  std::map<int, VirtualSlowness> slow{};  // by rank of the job
};

// Transfers are asynchronous, whatever executor the plan was made for; the two actions of an
// OVERLAP run one after the other and take as long as the pair. `observer` may be null; it is told
// what is returned, step by step. Error{kBadInput} as rank_program().
std::vector<MeasuredStep> run_virtual(std::shared_ptr<const PlanFile> plan,
                                      const VirtualRunOptions& options, StepObserver* observer);
// Under the plans of `source`, which may hand over a new one for every step. To change takes no
// time: ranks that sleep hold nothing that could move.
std::vector<MeasuredStep> run_virtual(ProgramSource& source, const VirtualRunOptions& options,
                                      StepObserver* observer);

}  // namespace penstock
