#include "simulator/schedules/limit_ladder.h"

#include <algorithm>
#include <cstdint>

namespace penstock {

std::vector<int> limit_ladder(std::initializer_list<int> always, int most, int parts) {
  std::vector<int> rungs;
  rungs.reserve(512);  // a sixteenth apart, 2^31 is 370 steps away
  for (std::int64_t rung = 1; rung < most; rung += std::max<std::int64_t>(1, rung / parts)) {
    rungs.push_back(static_cast<int>(rung));
  }
  for (const int rung : always) {
    if (rung < most) rungs.push_back(rung);
  }
  rungs.push_back(most);
  std::sort(rungs.begin(), rungs.end());
  rungs.erase(std::unique(rungs.begin(), rungs.end()), rungs.end());
  return rungs;
}

}  // namespace penstock
