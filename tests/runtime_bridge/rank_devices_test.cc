#include "runtime_bridge/rank_devices.h"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

using Devices = std::vector<std::string>;

// Two stages, the first on old devices, two replicas.
Plan mixed_plan() {
  Plan plan;
  plan.pipeline = 2;
  plan.data = 2;
  plan.device = "old";
  plan.rank_devices = {"old", "new"};
  return plan;
}

TEST_CASE("the type of a rank follows from where the plan places it") {
  Plan plan = mixed_plan();
  plan.placement = Placement::kPipelineInner;
  CHECK(devices_of_ranks(plan) == Devices{"old", "new", "old", "new"});
  plan.placement = Placement::kDataInner;
  CHECK(devices_of_ranks(plan) == Devices{"old", "old", "new", "new"});
  plan.tensor = 2;
  CHECK(devices_of_ranks(plan) == Devices{"old", "old", "old", "old", "new", "new", "new", "new"});
}

// The launcher numbers three new ones from 0 on, then three old ones; the plan has two of each, in
// the order old, new, old, new. New 0, 1 are its ranks 1, 3; old 3, 4 its ranks 0, 2; new 2 and old
// 5 are left, and come behind as 4 and 5.
TEST_CASE("ranks of a launcher find their place in a plan by their type, each one its own") {
  const Devices devices = devices_of_ranks(mixed_plan());
  const RanksOfTypes launched = {{"new", 3}, {"old", 3}};
  const std::vector<int> expected = {1, 3, 4, 0, 2, 5};
  for (int rank = 0; rank < 6; ++rank) {
    CAPTURE(rank);
    CHECK(rank_in_plan(devices, launched, rank) == expected[static_cast<std::size_t>(rank)]);
  }
  CHECK_THROWS_AS(rank_in_plan(devices, launched, 6), Error);
}

}  // namespace
}  // namespace penstock
