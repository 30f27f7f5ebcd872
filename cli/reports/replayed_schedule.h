// One schedule with given costs, replayed: the numbers, and what else was asked for.
#pragma once

#include <optional>
#include <string>

#include "cli/options/schedule_options.h"
#include "cli/reports/schedule_subject.h"
#include "cli/reports/synthetic_step.h"
#include "report/schedule_report.h"
#include "report/screen.h"
#include "report/uncertainty.h"

namespace penstock {

// What goes beside the numbers. A schedule of millions of actions is dropped as soon as it is
// lowered, so its texts are made before.
struct ScheduleExtras {
  std::string csv, lists, drawing;
  Uncertainty uncertainty;
  std::optional<SyntheticStep> step;  // where it is to be drawn
};

struct ReplayedSchedule {
  ScheduleResult result;
  ScheduleExtras extras;
};

ReplayedSchedule replayed(const ScheduleOptions& given, const Subject& subject, Screen screen);

}  // namespace penstock
