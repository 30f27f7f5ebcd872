// Where the time of a step goes, and what the step would take without each part of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

struct StepPart {
  std::string name, meaning;
  Duration time{};  // of one rank
  Duration step_if_zero{};
  bool is_bound = false;  // the step cannot be shorter than that; else it was replayed
  bool operator==(const StepPart&) const = default;
};

// One row per part; the shares of the sum of all parts add up to 100.0 %. `step` as it is.
std::string step_parts_table(Duration step, const std::vector<StepPart>& parts, Screen screen);
Json to_json(Duration step, const std::vector<StepPart>& parts);

}  // namespace penstock
