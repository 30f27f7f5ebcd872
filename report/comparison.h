// The best plans of several questions that differ in a few settings, relative to the first.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/training_cost.h"
#include "report/uncertainty.h"

namespace penstock {

struct Variant {
  std::vector<std::pair<std::string, std::string>> settings;  // same keys in every variant
  std::optional<RankedPlan> best;
  std::string why_not;  // when there is no plan
  // The best plan, unchanged, under the scenario that was asked for; or why that cannot be.
  std::optional<ScenarioResult> slow = std::nullopt;
  std::string why_not_slow;
  std::optional<TrainingCost> training = std::nullopt;  // with the best plan, if that was asked
};

// Speeds are relative to the first variant that has a plan; the reasons of those that have none, or
// to which the scenario does not apply, follow the table.
std::string comparison_table(const std::vector<Variant>& variants, Screen screen);
// The table alone; and the rows of the JSON, flat: what varies is behind vary_.
TextTable comparison_rows(const std::vector<Variant>& variants);
std::vector<Json> exact_rows(const std::vector<Variant>& variants);
Json comparison_json(const std::vector<Variant>& variants);

}  // namespace penstock
