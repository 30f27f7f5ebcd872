// Where the time of a step goes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "report/screen.h"
#include "report/table.h"

namespace penstock {

struct TimePart {
  std::string_view name, meaning;
  Duration RankTime::*time;
};
// What a rank's makespan is made of, in the order in which it is told; `compute` comes first.
std::span<const TimePart> time_parts();

// The busiest rank's makespan, part by part, with what each part means; the shares sum to 100.0 %.
std::string busiest_rank_time(const Evaluation& evaluation, Screen screen);

// One row per rank, in a mixed plan with its device type: the shares of the makespan.
TextTable time_rows(const Evaluation& evaluation, const Plan& plan);
std::string time_table(const Evaluation& evaluation, const Plan& plan, Screen screen);

// The parts of `total` in tenths of a percent, rounded so that they sum to 1,000: the largest
// remainders round up, ties the earlier part.
std::vector<std::int64_t> tenths_of_percent(const std::vector<Duration>& parts);

}  // namespace penstock
