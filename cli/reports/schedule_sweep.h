// Several schedules, numbers of ranks, chunks and micro-batches in one table.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/schedule_options.h"
#include "report/screen.h"

namespace penstock {

// Whether `given` names several of anything.
bool is_sweep(const ScheduleOptions& given);

// One row per combination, in the order in which they were named, the last one changing fastest.
// Combinations that a schedule's own rules exclude have the reason in place of the numbers.
Answer sweep(const ScheduleOptions& given, Screen screen);

}  // namespace penstock
