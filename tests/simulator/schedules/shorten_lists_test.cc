#include "simulator/schedules/shorten_lists.h"

#include <doctest/doctest.h>

#include "simulator/schedules/zb_v_auto.h"
#include "tests/simulator/schedules/automatic.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::costs_of;
using testing::EqualStages;
using testing::Lists;
using testing::Random;
using testing::text_of;

SplitLists lists_of(std::vector<std::vector<ActionKind>> kinds, int micro_batches) {
  SplitLists lists(kinds.size(), 1, micro_batches);
  auto step = lists.steps.begin();
  for (const auto& list : kinds) {
    for (const ActionKind kind : list) *step++ = {kind, 0};
  }
  return lists;
}

constexpr ActionKind kF = ActionKind::kForward, kI = ActionKind::kInputGradient,
                     kW = ActionKind::kWeightGradient;

// Two stages, two micro-batches, F = I = W = 1. W0 of the last stage makes rank 0 wait for I1:
//
//   0: F0 F1  . I0 W0  . I1 W1        0: F0 F1  . I0 W0 I1 W1
//   1:  . F0 I0 W0 F1 I1 W1           1:  . F0 I0 F1 I1 W0 W1
//
// Rank 0 has six actions to do and must wait for I0 of the other, until 3: nothing is shorter than
// 7. With room for one activation the last stage needs its W0 before F1.
const std::vector<std::vector<ActionKind>> kHeldUp{{kF, kF, kI, kW, kI, kW},
                                                   {kF, kI, kW, kF, kI, kW}};

StageCosts two_stages(std::int64_t limit_of_last) {
  StageCosts costs = costs_of(EqualStages{.ranks = 2, .limit = 2});
  costs.limit[1] = limit_of_last * costs.taken_by_forward[1];
  costs.shortest = Shortest::kMakespan;
  return costs;
}

TEST_CASE("a weight gradient that another rank waits for is put off") {
  const StageCosts costs = two_stages(2);
  const SplitLists lists = shorten_lists(lists_of(kHeldUp, 2), costs);
  CHECK(length_of(lists_of(kHeldUp, 2), costs, Shortest::kMakespan) == Duration{8});
  CHECK(length_of(lists, costs, Shortest::kMakespan) == Duration{7});
}

TEST_CASE("not where there is no memory for that") {
  const StageCosts costs = two_stages(1);
  const SplitLists lists = shorten_lists(lists_of(kHeldUp, 2), costs);
  CHECK(text_of(compute_actions(lists), 1) == "F0 I0 W0 F1 I1 W1");
  CHECK(length_of(lists, costs, Shortest::kMakespan) == Duration{8});
}

// By the judge of automatic lists, which knows nothing of how they were made.
TEST_CASE("lists that are made shorter run, fit and are no longer") {
  Random random(4);
  int shorter = 0;
  for (int i = 0; i < testing::draws(200); ++i) {
    CAPTURE(i);
    StageCosts costs = testing::random_costs(random, 4);
    costs.limit = testing::random_limits(random, costs);
    costs.shortest = random.coin() ? Shortest::kMakespan : Shortest::kSpan;
    const int micro_batches = random.between(1, 5);
    const AutomaticLists found = zb_auto(costs, micro_batches);
    if (!found.why_not.empty()) continue;
    const Schedule schedule = schedule_of_lists(
        "zb-auto", micro_batches,
        stage_ranks(StageMap::kLoop, {static_cast<int>(costs.limit.size()), 1, micro_batches}),
        found.lists);
    const Lists lists = compute_actions(shorten_lists(split_lists(schedule), costs));
    const testing::Times times = testing::times_of(lists, costs, micro_batches);
    const Duration length =
        costs.shortest == Shortest::kMakespan ? times.makespan : times.longest_span;
    CHECK(length <= found.span);
    CHECK(testing::within_limits(lists, costs));
    shorter += length < found.span ? 1 : 0;
  }
  CHECK(shorter > 0);
}

}  // namespace
}  // namespace penstock
