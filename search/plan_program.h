// The Program of a Plan: its distinct pipelines, their micro-batches, and what ends the step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"
#include "core/values/program.h"
#include "simulator/held_counts.h"
#include "simulator/liveness.h"
#include "simulator/lower.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

class ScheduleMemo;

// Why the plan's schedule cannot be generated; empty when it can.
std::string why_no_program(const Plan& plan);

// The schedule of every distinct pipeline, rolled up.
struct PlanSchedules {
  std::vector<Schedule> schedules;
  std::vector<RolledInput> pipelines;  // they point into `schedules`
};
// `memo`: has some of them, and keeps others; may be null.
PlanSchedules schedules_of(const Plan& plan, ScheduleMemo* memo = nullptr);
// The micro-batches of every distinct pipeline, without a schedule.
std::vector<RolledInput> rolled_inputs(const Plan& plan);

// The schedules that a plan file's Program was lowered from, without the recomputes that lowering
// inserted: needs no generator, so it serves automatic schedules as well.
PlanSchedules schedules_in(const PlanFile& file);

// `recomputes`: the recompute mode has a recompute time, so that backwards get an R before them.
LoweringOptions lowering_of(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                            const ExecutorModel& executor);

Program program_of(const PlanSchedules& schedules, const LoweringOptions& options);

// liveness() of the plan's Program; of replicas that are alike but for what they take, the most
// that any of them holds (merge_liveness()). Which receives wait is worked out on few
// micro-batches: with more of them a steady state repeats, or (schedules that hold all
// micro-batches) every count grows by what it grew by with the last one.
std::vector<RankLiveness> liveness_of(const Plan& plan);
// The same of schedules that tell themselves: one after the other, of replicas that are alike.
std::vector<RankLiveness> liveness_of(const PlanSchedules& schedules);
// How many micro-batches are enough for the former.
int telling_micro_batches(const Plan& plan);
// least_held() of the schedule of its first replicas; the same for plans that differ only in
// micro-batches but have the same of these:
HeldCounts least_held_of(const Plan& plan);
int counted_micro_batches(const Plan& plan);
// HeldCounts(liveness_of(plan)), in a third of the time; the same where this is the same, too: the
// micro-batches of the replicas that take one less, 0 where those hold no more than the first.
HeldCounts exactly_held_of(const Plan& plan);
int counted_of_fewer(const Plan& plan);

// For both kinds of counts of one plan: the schedule that they are counted on is made once, or
// taken from the memo if there is one.
class PlanCounts {
 public:
  explicit PlanCounts(const Plan& plan, ScheduleMemo* memo = nullptr) : plan_(plan), memo_(memo) {}
  [[nodiscard]] HeldCounts least();
  [[nodiscard]] HeldCounts exact();

 private:
  const Schedule& schedule();

  const Plan& plan_;
  ScheduleMemo* memo_;
  std::shared_ptr<const Schedule> schedule_;
};

}  // namespace penstock
