// The rows of the table, one per file of this folder.
#pragma once

#include "simulator/schedules/schedules.h"

namespace penstock {

extern const ScheduleKind kGpipe;
extern const ScheduleKind kOneForwardOneBackward;
extern const ScheduleKind kInterleaved;
extern const ScheduleKind kLoopedBfs;
extern const ScheduleKind kZbH1;

}  // namespace penstock
