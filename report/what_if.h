// What each change of a plan's world would gain.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

struct WhatIf {
  std::string change;  // "transfers take no time"
  Duration step_time{};
  bool operator==(const WhatIf&) const = default;
};

// One row per change: the step time, and how much of `now` it saves.
std::string what_if_table(Duration now, const std::vector<WhatIf>& changes, Screen screen);
Json what_if_json(Duration now, const std::vector<WhatIf>& changes);

}  // namespace penstock
