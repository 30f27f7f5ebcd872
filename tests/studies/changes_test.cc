#include "studies/changes.h"

#include <doctest/doctest.h>

#include "tests/studies/two_ranks.h"

using namespace penstock;
using namespace std::chrono_literals;

TEST_CASE("one thing changes at a time") {
  const PlanFile file = tests::two_ranks();
  CHECK(step_with(file, file.prices, file.executor) == 13ms);
  const std::vector<WhatIf> gains = gains_of_removals(file);
  REQUIRE(gains.size() == 3);
  CHECK(gains[0].step_time == 12ms);  // no transfers: 1 + 3 + 6 + 2
  CHECK(gains[1].step_time == 13ms);  // no reductions: there are none
  CHECK(gains[2].step_time == 13ms);  // no optimizer: there is none
}

TEST_CASE("the same work in other places, and what that can reach at best") {
  PlanFile file = tests::two_ranks();
  Evaluation now;
  now.ideal = 9ms;  // rank 1
  now.ranks.resize(2);
  now.ranks[0].time.busy = 3ms;
  now.ranks[1].time.busy = 9ms;
  std::vector<WhatIf> gains = gains_of_rearranging(file, now);
  REQUIRE(gains.size() == 3);
  CHECK(gains[0].step_time == 13ms);  // balanced: 2 + 2 + 4 + 4, and 1 on the links
  CHECK(gains[1].step_time == 9ms);   // no bubble
  CHECK(gains[2].step_time == 6ms);   // 12 ms of work on two ranks
  file.executor.per_step = 1ms;
  gains = gains_of_rearranging(file, now);
  CHECK(gains[0].step_time == 14ms);
  CHECK(gains[1].step_time == 10ms);
  CHECK(gains[2].step_time == 7ms);
  CHECK(gains_of_changes(file, now).size() == 6);
}
