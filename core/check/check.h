// The independent judge of plan files. It knows nothing of search, lowering or the replay engines:
// it recomputes structure, liveness, memory sums and the replayed time from what the file holds,
// by the plainest method there is, and says where they differ.
#pragma once

#include <string>
#include <vector>

#include "core/values/plan_file.h"
#include "core/values/units.h"

namespace penstock {

struct Finding {
  std::string place;    // "/program/pipelines/0/ranks/3", "rank 2", "stage 4"
  std::string message;  // what is wrong, found and expected
  bool operator==(const Finding&) const = default;
};

struct CheckReport {
  std::vector<Finding> findings;  // empty: the plan holds
  Duration replayed{};            // step time by the checker's own replay
  std::vector<Bytes> memory;      // per rank of the first pipeline, by the checker's own sums
};

CheckReport check(const PlanFile& file);

}  // namespace penstock
