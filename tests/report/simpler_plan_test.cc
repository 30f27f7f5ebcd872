#include "report/simpler_plan.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

namespace {

// PP 16 in 100 ms, then others.
std::vector<RankedPlan> deep_first() {
  std::vector<RankedPlan> plans(5, tests::ranked());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].plan.pipeline = 16;
    plans[i].plan.schedule = "zb-h1";
    plans[i].evaluation.step_time = std::chrono::microseconds(100'000 + 500 * i);
  }
  return plans;
}

}  // namespace

TEST_CASE("the simplest plan within 2 % is found, and what is simpler of it said") {
  std::vector<RankedPlan> plans = deep_first();
  CHECK_FALSE(simpler_plan(plans));  // all alike
  plans[1].plan.pipeline = 8;
  plans[2].plan.pipeline = 4;
  plans[3].plan.pipeline = 4;
  CHECK(simpler_plan(plans) == 2);
  CHECK(simpler_in(plans[2].plan, plans[0].plan) == "PP 4 instead of 16");
  plans[3].plan.schedule = "1f1b";
  CHECK(simpler_plan(plans) == 3);
  CHECK(simpler_in(plans[3].plan, plans[0].plan) == "PP 4 instead of 16, schedule 1f1b");
  plans[4].plan.pipeline = 2;
  CHECK(simpler_plan(plans) == 4);  // 102 ms is 2 % more
  plans[4].evaluation.step_time += std::chrono::nanoseconds(1);
  CHECK(simpler_plan(plans) == 3);
  CHECK_FALSE(simpler_plan({}));
}

TEST_CASE("eight replicas for a pipeline of two and four are one kind of parallelism less") {
  std::vector<RankedPlan> plans(2, tests::ranked());
  for (RankedPlan& each : plans) each.plan.global_batch = 16;
  plans[0].plan.pipeline = 2;
  plans[0].plan.data = 4;
  plans[0].plan.schedule = "zb-h1";
  plans[1].plan.pipeline = 1;
  plans[1].plan.data = 8;
  REQUIRE(simpler_plan(plans) == 1);
  CHECK(simpler_in(plans[1].plan, plans[0].plan) == "no pipeline");
}

// 24 samples in micro-batches of 4 are 6 on each of four replicas, the last one short.
TEST_CASE("replicas with a short last micro-batch are equal; special ways are not exchanged") {
  std::vector<RankedPlan> plans(2, tests::ranked());
  for (RankedPlan& each : plans) {
    each.plan.pipeline = 16;
    each.plan.data = 4;
    each.plan.global_batch = 24;
    each.plan.schedule = "1f1b";
  }
  plans[0].plan.micro_batch_size = 4;
  plans[1].plan.micro_batch_size = 3;
  CHECK_FALSE(simpler_plan(plans));
  plans[0].plan.recompute_sections = {1};
  plans[1].plan.pipeline = 8;
  CHECK(simpler_plan(plans) == 1);
  plans[1].plan.schedule = "zb-h1";  // an unusual schedule for recompute that differs
  CHECK_FALSE(simpler_plan(plans));
}

TEST_CASE("what is simpler in one way and less so in another is no simpler plan") {
  std::vector<RankedPlan> plans = deep_first();
  plans[1].plan.pipeline = 4;
  plans[1].plan.context = 2;
  CHECK_FALSE(simpler_plan(plans));
  plans[0].plan.context = 2;
  plans[0].plan.expert = 2;
  CHECK(simpler_plan(plans) == 1);
  CHECK(simpler_in(plans[1].plan, plans[0].plan) == "PP 4 instead of 16, no expert parallelism");
}
