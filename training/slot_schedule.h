// What a rank's list says of its slots, step after step, for who carries it out.
#pragma once

#include <vector>

#include "core/values/action_kind.h"

namespace penstock {

// Stages as in RankSetup.
struct SlotAction {
  ActionKind kind = ActionKind::kForward;
  int stage = 0;
  bool operator==(const SlotAction&) const = default;
};

struct SlotSchedule {
  int slots = 0;                    // none: all stages stay on the device
  std::vector<SlotAction> actions;  // all of the rank's, in its order

  // Whether STORE brings gradients to the host, where they are used: a stage is loaded behind its
  // own update, since that on the device is old then. Else the whole stage is stored.
  [[nodiscard]] bool updates_on_host() const;
  [[nodiscard]] bool has_norm() const;
  // How often a stage is copied back in a step.
  [[nodiscard]] int passes() const;
  // The stages that are in slots when a step begins.
  [[nodiscard]] std::vector<int> residents() const;
  bool operator==(const SlotSchedule&) const = default;
};

}  // namespace penstock
