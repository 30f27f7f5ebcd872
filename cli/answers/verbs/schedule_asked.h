// A schedule that is asked for without a model, whatever the words around it: "draw --schedule 1f1b
// --pp 4 --num-microbatches 8", "compare gpipe 1f1b zero-bubble --pp 8 --mb 32".
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// How the schedules are to be shown: as figures, as a picture where there is one, or beside others
// where nobody names several.
enum class ScheduleView { kFigures, kPicture, kBeside };

// The whole command of `schedule` with all schedules, sizes and costs that were typed; empty where
// the words name no schedule and no size of a pipeline, or a plan or a model, of which they may be.
std::string schedule_asked(const Arguments& words, ScheduleView view);

}  // namespace penstock
