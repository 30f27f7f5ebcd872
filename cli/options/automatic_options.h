// --limit, --activation and --shortest: the memory that the automatic schedules of `penstock
// schedule` arrange themselves to, and what for.
#pragma once

#include <optional>
#include <string>

#include "cli/options/costs.h"
#include "cli/options/options.h"
#include "core/values/executor_model.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

struct AutomaticOptions {
  std::optional<std::string> limit, activation, shortest;

  void declare(Options& options);
  // Error{kBadInput} when the schedule (none: a file) has no use for what was given, or lacks it.
  void check(const std::string& name, const ScheduleKind* kind) const;
  [[nodiscard]] Schedule arranged(const ScheduleKind& kind, const ScheduleShape& shape,
                                  const ScheduleCosts& costs, const ExecutorModel& executor) const;
  // "; limit 4; activation A=3,W=2, 66.7 % of it held until W"; nothing for other schedules.
  [[nodiscard]] std::string words(const ScheduleKind* kind) const;
};

}  // namespace penstock
