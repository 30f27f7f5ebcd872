#include "multi/unit_bound.h"

#include <doctest/doctest.h>

#include "multi/replay_units.h"
#include "tests/multi/tasks.h"

namespace penstock {

using std::chrono::seconds;
using tests::task_of;

TEST_CASE("the bound is the longest task, or all work over the GPUs that can be busy") {
  const UnitBound one_long = unit_bound({task_of("A", {5, 5}), task_of("B", {1})}, 2);
  CHECK(one_long.longest_task == seconds(10));
  CHECK(one_long.work == Duration{5'500'000'000});
  CHECK(one_long.makespan() == seconds(10));
  // n < G: two tasks keep two GPUs busy, whatever there is besides.
  CHECK(unit_bound({task_of("A", {3}), task_of("B", {3})}, 8).work == seconds(3));
  CHECK(unit_bound({}, 3).makespan() == Duration{});
}

TEST_CASE("nothing is computed before something is loaded") {
  const UnitTask slow{"A", {{0, seconds(1), seconds(2), {}}}, 1};
  const UnitTask fast{"B", {{0, seconds(4), seconds(1), {}}}, 1};
  const UnitBound bound = unit_bound({slow, fast}, 1);
  CHECK(bound.longest_task == seconds(5));
  CHECK(bound.work == seconds(6));  // 1 + (1 + 4)
}

// Loads of 1 s, S = 4, one GPU: 2S - 4 = 4 a step, whatever is done; on two GPUs four slots hold
// all shards. Copies back cannot be avoided: four of 0.25 s a step.
TEST_CASE("two slots cannot avoid 2S - 4 loads a step") {
  const UnitTask task = tests::spilled(4, 10, seconds(1), std::chrono::milliseconds(250));
  CHECK(unit_bound({task}, 1).copies == seconds(40));
  CHECK(unit_bound({task}, 1, {1, false}).copies == seconds(50));
  CHECK(unit_bound({task}, 2, {2, true}).copies == seconds(10));
  CHECK(replay_units({task}, 1).makespan >= unit_bound({task}, 1).makespan());
}

// Uneven loads: the bound may count the smallest only.
TEST_CASE("the loads that are avoided are the longest") {
  std::vector<ShardTimes> shards;
  for (const int load : {5, 1, 2, 7}) {
    shards.push_back({seconds(1), seconds(1), seconds(load), {}});
  }
  const UnitTask task{"A", units_of_shards(shards), 1};
  // F stretch {5, 1, 2, 7}: 1 + 2; B stretch {2, 1, 5} behind the last shard: 1 + 2.
  CHECK(unit_bound({task}, 1).copies == seconds(6));
}

}  // namespace penstock
