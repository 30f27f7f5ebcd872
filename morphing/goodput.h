// What is left of the work when GPUs come and go: replayed in virtual time under a policy, and the
// most that anyone could have reached who had known the recording.
#pragma once

#include <string>
#include <vector>

#include "core/values/availability.h"
#include "morphing/change_policy.h"
#include "morphing/rungs.h"

namespace penstock {

// A plan that was started (or nothing, while the job waits).
struct RungStart {
  Duration at{};
  std::optional<std::size_t> rung;
  bool broken = false;  // what ran before lost a GPU
  bool operator==(const RungStart&) const = default;
};

struct Goodput {
  double steps = 0.0;                // that stay
  double lost_steps = 0.0;           // done, and lost with what was not in a checkpoint
  int changes = 0;                   // starts but for the first
  Duration restarting{}, waiting{};  // waiting: nothing could run, or the policy ran nothing
  std::vector<RungStart> starts;
};

// How a recording is replayed:
// - From its first change on; the start there is free.
// - Where machines have names, a plan takes those that have been there longest, and the loss of one
//   of them breaks it. Else idle GPUs are lost first, and a plan breaks when fewer are left than it
//   uses.
// - A change that is decided, or a loss that is announced at least `write` before, costs write +
//   restart, and only the restart where the plan has made no step yet. Another loss costs restart
//   and the work since the last checkpoint.
// - After every `every` of work the job stands still for `stall`, while a checkpoint is copied.
// - During a restart, a change that breaks the plan, or at which the policy starts one, begins it
//   anew; another leaves it to go on.
Goodput replay_availability(const Availability& recording, const std::vector<Rung>& rungs,
                            const ChangeCosts& costs, ChangePolicy& policy);

// The most steps that a job can keep which knows every loss beforehand, and so writes a checkpoint
// before a change, or none, whichever is the best, and none in the background that stops it.
double most_steps(const Availability& recording, const std::vector<Rung>& rungs,
                  const ChangeCosts& costs);

// Steps when changes are free and nothing is lost: the fastest rung at every moment.
double steps_of_free_changes(const Availability& recording, const std::vector<Rung>& rungs);

// GPU hours that were there from the first change to the end, and what they cost: by the
// recording's prices where it has them, else `usd_per_gpu_hour`.
double gpu_hours(const Availability& recording);
double usd_paid(const Availability& recording, double usd_per_gpu_hour);

}  // namespace penstock
