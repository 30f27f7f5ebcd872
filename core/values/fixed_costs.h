// The fixed costs of an executor as files and words have them. Which kinds of action one is added
// to is said by their rows in action_rules.h; per_step belongs to none.
#pragma once

#include <array>
#include <string_view>

#include "core/values/executor_model.h"

namespace penstock {

struct FixedCost {
  std::string_view field, of;
  Duration ExecutorModel::*cost = nullptr;
  bool may_be_left_out = false;  // in files, where it is zero: of costs that older files lack
};
inline constexpr std::array kFixedCosts{
    FixedCost{"per_action", "action", &ExecutorModel::per_action},
    FixedCost{"per_transfer", "transfer", &ExecutorModel::per_transfer},
    FixedCost{"per_step", "step", &ExecutorModel::per_step}};

}  // namespace penstock
