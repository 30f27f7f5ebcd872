// When to change the plan: what a policy is asked, and what it answers. A policy sees what has
// happened so far and nothing else; it asks no clock, so that a recording and a running job ask it
// in the same way.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/values/availability.h"
#include "morphing/rungs.h"

namespace penstock {

struct Situation {
  Duration now{};
  int gpus = 0;  // that there are
  const AvailabilityChange* change =
      nullptr;                         // that has just happened; none: the policy's own wake-up
  std::optional<std::size_t> running;  // rung; none: nothing runs, or a GPU in use was lost
  Duration restarting{};               // until the rung that runs makes steps; 0: it does
  std::span<const int> of_types{};     // of the GPUs, where types are counted
};

struct Decision {
  std::optional<std::size_t> rung;  // to run from now on, not more than the GPUs; none: wait
  bool restart = false;             // though the rung stays as it is
  std::optional<Duration> wake;     // ask again then, if nothing happens before; after `now`
};

class ChangePolicy {
 public:
  virtual ~ChangePolicy() = default;
  virtual Decision decide(const Situation& situation) = 0;
};

// Penstock's own (expected_gain.cc says how it decides).
std::unique_ptr<ChangePolicy> expected_gain_policy(const Availability& recording,
                                                   std::vector<Rung> rungs,
                                                   const ChangeCosts& costs);
// The fastest rung for what there is, at every change.
std::unique_ptr<ChangePolicy> always_policy(std::vector<Rung> rungs);
// The first rung that ran; waits while there are fewer GPUs.
std::unique_ptr<ChangePolicy> never_policy(std::vector<Rung> rungs);
// As torchrun's elastic agent: every arrival and departure restarts all workers.
std::unique_ptr<ChangePolicy> restart_all_policy(std::vector<Rung> rungs);

}  // namespace penstock
