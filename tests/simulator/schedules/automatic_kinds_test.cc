// The rows of the automatic schedules, from StagePrices to lists that the simulator replays.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulate.h"
#include "tests/simulator/schedules/automatic.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::costs_of;
using testing::input_of;
using testing::Lists;
using testing::Random;
using testing::random_prices;
using testing::times_of;
using testing::within_limits;

std::vector<const ScheduleKind*> automatic_kinds() {
  std::vector<const ScheduleKind*> kinds;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic()) kinds.push_back(&kind);
  }
  return kinds;
}

Lists lists_of(const Schedule& schedule) {
  Lists lists;
  for (int rank = 0; rank < schedule.ranks; ++rank) lists.push_back(schedule.list(rank));
  return lists;
}

StagePrices random_prices_with_memory(Random& random, int stages) {
  StagePrices prices = random_prices(random, stages, 1);
  for (ComputePrice& price : prices.compute) {
    price.weight_stash = Bytes{random.between(0, 5)};
    price.stash = Bytes{price.weight_stash.count + random.between(0, 5)};
  }
  return prices;
}

// Two ranks on the V. Transfers 0 -> 1 and 2 -> 3 cross ranks, 1 -> 2 does not.
TEST_CASE("costs of stages: fixed costs, a recompute before every I, no transfer at the turn") {
  StagePrices prices = testing::equal_prices(4, 1, {10, 20, 30, 5});
  for (ComputePrice& price : prices.compute) {
    price.stash = Bytes{7};
    price.weight_stash = Bytes{3};
  }
  prices.compute[2].weight_stash = Bytes{8};  // more than it had: W gives back all
  ExecutorModel executor;
  executor.per_action = Duration{1};
  executor.per_transfer = Duration{2};
  const std::vector<int> ranks = {0, 1, 1, 0};
  StageCosts costs = stage_costs(prices, ranks, executor, true);
  const auto all = [](std::int64_t time) { return std::vector<Duration>(4, Duration{time}); };
  CHECK(costs.forward == all(11));
  CHECK(costs.input_gradient == all(10 + 1 + 20 + 1));
  CHECK(costs.weight_gradient == all(31));
  CHECK(costs.activation == std::vector<Duration>{Duration{7}, Duration{0}, Duration{7}});
  CHECK(costs.gradient == costs.activation);
  CHECK(costs.taken_by_forward == std::vector<std::int64_t>{7, 7, 7, 7});
  CHECK(costs.freed_by_input_gradient == std::vector<std::int64_t>{4, 4, 0, 4});
  CHECK(costs.freed_by_weight_gradient == std::vector<std::int64_t>{3, 3, 7, 3});
  CHECK(costs.limit.empty());
  CHECK(costs.shortest == Shortest::kMakespan);
  executor.optimizer = OptimizerGate::kPostValidation;
  costs = stage_costs(prices, ranks, executor, false);
  CHECK(costs.input_gradient == all(21));
  CHECK(costs.shortest == Shortest::kSpan);
}

TEST_CASE("any prices: the schedules are whole, and fit their limits") {
  Random random(1);
  for (int n = 0; n < testing::draws(300); ++n) {
    for (const ScheduleKind* kind : automatic_kinds()) {
      const ScheduleShape shape{random.between(1, 6), kind->fewest_chunks, random.between(1, 15)};
      CAPTURE(kind->name);
      CAPTURE(n);
      const StagePrices prices = random_prices_with_memory(random, shape.ranks * shape.chunks);
      StageCosts costs = stage_costs(prices, stage_ranks(kind->map, shape), {}, false);
      const std::int64_t largest =
          *std::max_element(costs.taken_by_forward.begin(), costs.taken_by_forward.end());
      const auto ranks = static_cast<std::size_t>(shape.ranks);
      costs.limit.assign(ranks, random.between(1, 2) * shape.chunks * shape.ranks * largest);
      const ArrangedSchedule arranged = kind->arrange(shape, costs);
      REQUIRE(arranged.why_not.empty());
      const Schedule& schedule = arranged.schedule;
      CHECK(schedule.name == kind->name);
      CHECK(schedule.chunks == shape.chunks);
      const Lists lists = lists_of(schedule);
      for (std::size_t r = 0; r < ranks && kind->limit_in_ranks > 0; ++r) {
        costs.limit[r] = kind->limit_in_ranks * shape.ranks * costs.taken_by_forward[r];
      }
      CHECK(within_limits(lists, costs));
      const TimelineSummary summary = simulate_summary(lower({input_of(schedule)}, {}), prices, {});
      const testing::Times times = times_of(lists, costs, shape.micro_batches);
      CHECK(summary.longest_span == times.longest_span);
      CHECK(summary.makespan == times.makespan);
    }
  }
}

// An activation takes 3 on two ranks with two stages each: 1F1B's memory are four of them.
TEST_CASE("the V holds 1F1B's memory where no limit is given") {
  StageCosts costs = costs_of({2, 2, 1, 1, 1, 0, 1, 2, 4});
  const ScheduleKind& kind = *find_schedule("zb-v-auto");
  const Lists with_limit = lists_of(kind.arrange({2, 2, 6}, costs).schedule);
  costs.limit.clear();
  CHECK(lists_of(kind.arrange({2, 2, 6}, costs).schedule) == with_limit);
  costs.limit.assign(2, 5);
  CHECK(kind.arrange({2, 2, 6}, costs).why_not ==
        "rank 0 needs 6 for the activations of one micro-batch in its two stages, and its limit is "
        "5: a limit of 6 there would do, or smaller micro-batches");
}

TEST_CASE("zb-1p and zb-2p go by their names, not by the memory there is") {
  StageCosts costs = costs_of({4, 1, 1, 1, 1, 0, 1, 1, 4});
  const ScheduleShape shape{4, 1, 8};
  const Lists one = lists_of(find_schedule("zb-1p")->arrange(shape, costs).schedule);
  CHECK(one == zb_published(costs, 8).lists);
  costs = costs_of({4, 1, 1, 1, 1, 0, 1, 1, 8});
  CHECK(lists_of(find_schedule("zb-1p")->arrange(shape, costs).schedule) == one);
  CHECK(lists_of(find_schedule("zb-2p")->arrange(shape, costs).schedule) ==
        zb_published(costs, 8).lists);
}

TEST_CASE("an automatic schedule that does not fit says why") {
  const ArrangedSchedule none =
      find_schedule("zb-auto")->arrange({2, 1, 3}, costs_of({2, 1, 1, 1, 1, 0, 1, 1, 0}));
  CHECK(none.schedule.blocks.empty());
  CHECK(none.why_not ==
        "stage 0 needs 2 for the activation of one micro-batch, and the limit of rank 0 is 0: a "
        "limit of 2 there would do, or smaller micro-batches");
}

}  // namespace
}  // namespace penstock
