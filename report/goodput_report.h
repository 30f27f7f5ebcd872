// What policies keep of a job's work when GPUs come and go, for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

struct PolicyResult {
  std::string name;
  double steps = 0.0, lost_steps = 0.0;
  int changes = 0;
  Duration restarting{}, waiting{};
  bool is_possible = true;  // false: a bound, which no policy reaches that does not know the future
};

struct GoodputReport {
  std::string recording;  // one line: file, hours, GPUs, changes
  std::string costs;      // one line or several: what a change costs, and from where
  int global_batch = 1;
  int tokens_per_sample = 0;  // 0: samples have no length
  double hours = 0.0;
  double gpu_hours = 0.0;
  double usd = 0.0;                    // for all GPUs that were there; 0: unknown
  std::vector<PolicyResult> policies;  // ours first, the best of hindsight among them
  std::string hindsight;               // the name of that one
};

std::string goodput_text(const GoodputReport& report, Screen screen);
Json goodput_json(const GoodputReport& report);

}  // namespace penstock
