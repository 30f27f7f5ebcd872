// Which plan to run on the machines that there are, and where its ranks go.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manager/decide.h"

namespace penstock {

struct ChosenPlan {
  PlanPage page;
  std::vector<PlacedRank> ranks;
  double slow_factor = 1.0;  // of the slowest machine that it uses
  bool is_tailored = false;  // made for machines that are slow: its step counts them

  // Of a step, as far as is known.
  [[nodiscard]] Duration step() const { return scaled(page.step, slow_factor); }
};

// How many GPUs of each type the machines have.
std::vector<int> gpus_by_type(const std::vector<std::string>& types,
                              const std::vector<JobMachine>& machines);

// Machines that a new generation may use: those that will not be gone before a start has paid.
std::vector<JobMachine> usable_machines(const JobState& state, UtcTime now);

// The plan of most worth by Penstock's policy, when nothing runs; nothing when none fits.
std::optional<ChosenPlan> plan_to_start(const JobRules& rules, const JobState& state, UtcTime now);

// Losses that broke a generation are so far apart in the mean, once there are any; before, three
// hours are assumed.
Duration mean_between_losses(const JobState& state, UtcTime now);

// Of the generation that runs, slow machines counted.
Duration running_step(const JobState& state);

struct BetterPlan {
  std::optional<ChosenPlan> plan;     // to change to now
  std::optional<UtcTime> look_again;  // else, if nothing happens before
  std::string reason;                 // of the change
};
// Whether to leave the running plan for another, though it could go on. `at_once`: whatever the
// change costs, if the other is faster.
BetterPlan better_plan(const JobRules& rules, const JobState& state, UtcTime now, bool at_once);

}  // namespace penstock
