#include "report/distinct_plans.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;
using Places = std::vector<std::size_t>;

namespace {

RankedPlan with_step(RankedPlan ranked, int milliseconds) {
  ranked.evaluation.step_time = std::chrono::milliseconds(milliseconds);
  return ranked;
}

}  // namespace

TEST_CASE("placement and ZeRO-1 make no plan of its own, however far they are apart") {
  std::vector<RankedPlan> plans(3, tests::ranked());
  plans[1].plan.placement = Placement::kDataInner;
  plans[2] = with_step(plans[2], 150);
  plans[2].plan.zero1 = true;
  CHECK(are_twins(plans[0].plan, plans[2].plan));
  CHECK(distinct_plans(plans, 5) == Places{0});
}

// 101 ms is within 1 % of 100 ms, 102 ms is not.
TEST_CASE("another VP is a look-alike within 1 %; another schedule, degree or batch never is") {
  std::vector<RankedPlan> plans(6, tests::ranked());
  plans[1] = with_step(plans[1], 101);
  plans[1].plan.chunks = 2;
  plans[2].plan.schedule = "zb-h1";
  plans[3].plan.micro_batch_size = 1;
  plans[4] = with_step(plans[4], 102);
  plans[4].plan.chunks = 3;
  plans[5].plan.tensor = 2;
  CHECK(distinct_plans(plans, 9) == Places{0, 2, 3, 4, 5});
  CHECK(distinct_plans(plans, 2) == Places{0, 2});
  CHECK(distinct_plans({}, 2).empty());
}
