// What is wanted of every model of a schedule, and how good a schedule is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct Wishes {
  std::optional<Duration> deadline{};  // from the start of the schedule
  double weight = 1.0;                 // of the model's lateness, and of its end
  bool operator==(const Wishes&) const = default;
};

// Smaller is better, the first difference counts.
struct ScheduleValue {
  double late_seconds = 0.0;  // behind the deadlines, by weight
  Duration makespan{};
  double end_seconds = 0.0;  // of all ends, by weight

  [[nodiscard]] bool is_better_than(const ScheduleValue& other) const {
    return std::tie(late_seconds, makespan, end_seconds) <
           std::tie(other.late_seconds, other.makespan, other.end_seconds);
  }
  bool operator==(const ScheduleValue&) const = default;
};

// `ends` and `wishes`: of every model.
inline ScheduleValue value_of(const std::vector<Duration>& ends, Duration makespan,
                              const std::vector<Wishes>& wishes) {
  ScheduleValue value;
  value.makespan = makespan;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Wishes& wish = wishes[i];
    const auto seconds = [](Duration time) { return static_cast<double>(time.count()) / 1e9; };
    if (wish.deadline && ends[i] > *wish.deadline) {
      value.late_seconds += wish.weight * seconds(ends[i] - *wish.deadline);
    }
    value.end_seconds += wish.weight * seconds(ends[i]);
  }
  return value;
}

}  // namespace penstock
