// Recordings of device activity as files, penstock.activity/1: what `profile --record FILE` writes
// on a machine with a GPU, and what tests replay on machines without one. The reader is strict.
#pragma once

#include <string>

#include "core/values/json.h"
#include "profiler/activity.h"

namespace penstock {

ActivityRecording read_activity(const Json& json, const std::string& file);
Json write_activity(const ActivityRecording& recording);

}  // namespace penstock
