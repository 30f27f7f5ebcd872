// How the speed of a plan answers to each thing that it rests on, the strongest first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"
#include "report/table.h"

namespace penstock {

// One change of one thing.
struct Outcome {
  std::string change;       // "x2", "+8 GiB"
  Duration step_time{};     // 0 when there is no such step
  double more_speed = 0.0;  // in samples per second, as a share of the speed as it is
  std::string plan;         // another plan that was found for it, in words
  std::string why_not;      // why there is no such step
  bool operator==(const Outcome&) const = default;
};

struct Sensitivity {
  std::string key;   // "link.efa", "stage.3", "memory"
  std::string what;  // "bandwidth of efa"
  std::optional<Outcome> less, more;
  bool operator==(const Sensitivity&) const = default;
};

struct Sensitivities {
  std::vector<Sensitivity> all;           // in the order in which they were asked
  std::vector<std::string> not_answered;  // what could not be asked, with the reason
  std::vector<std::string> notes;         // what holds of the answers
};

// Rows by their largest effect, ties in order; then plans that were found, what is not possible and
// what was not answered.
std::string sensitivity_text(const Sensitivities& sensitivities, Screen screen);
// The rows alone. Without rows it has no columns.
TextTable sensitivity_rows(const Sensitivities& sensitivities);
// In the same order.
Json to_json(const Sensitivities& sensitivities);

}  // namespace penstock
