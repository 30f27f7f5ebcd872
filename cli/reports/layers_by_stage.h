// How many layers of a model the stages of a plan have.
#pragma once

#include <optional>

#include "core/values/plan.h"
#include "core/values/profile.h"

namespace penstock {

struct LayersByStage {
  int all = 0, fewest = 0, most = 0;
  [[nodiscard]] bool are_even() const { return fewest == most; }
};

// Nothing where the sections are not named as layers, or the plan has no cuts.
std::optional<LayersByStage> layers_by_stage(const Plan& plan, const ModelProfile& profile);

}  // namespace penstock
