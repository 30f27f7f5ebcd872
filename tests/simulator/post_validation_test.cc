// The optimizer behind a global barrier, validated afterwards, and taken back: closed forms.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/events/simulate_by_events.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"
#include "tests/simulator/lists_by_the_rules.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::input_of;
using testing::Random;

constexpr std::int64_t kNorm = 3, kOptimizer = 7;

// What ends a step: reductions of so long per rank, the norm, the optimizer.
StagePrices with_tail(StagePrices prices, const std::vector<std::int64_t>& reductions) {
  for (std::size_t s = 0; s < prices.step.size(); ++s) {
    prices.step[s].reduce_gradient.duration = Duration{reductions[s]};
    prices.step[s].optimizer.duration = Duration{kOptimizer};
  }
  prices.norm.duration = Duration{kNorm};
  return prices;
}

LoweringOptions ends_with(OptimizerGate gate) {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  options.optimizer = gate;
  return options;
}

// All engines, which agree with the oracle to the nanosecond.
TimelineSummary replayed(const Schedule& schedule, const StagePrices& prices,
                         const LoweringOptions& options) {
  const Program program = lower({input_of(schedule)}, options);
  const Timeline timeline = replay(program, prices, {});
  REQUIRE(timeline == simulate_by_worklist(program, prices, {}));
  REQUIRE(timeline == simulate_by_events(program, prices, {}));
  const testing::ActionTimes rules = testing::lists_by_the_rules(program, prices);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    REQUIRE(timeline.start[i] == SimTime{Duration{rules.start[i]}});
    REQUIRE(timeline.end[i] == SimTime{Duration{rules.end[i]}});
  }
  const TimelineSummary summary = summarize(program, timeline);
  REQUIRE(summary ==
          simulate_schedule({{&schedule, {{schedule.micro_batches, {}}}}}, options, prices, {}));
  return summary;
}

// 1F1B without transfers: rank s begins at sF and ends its last backward at T - sB, where
// T = (M + P - 1)(F + B). With a barrier all updates wait for the rank whose reduction ends last.
// Validated afterwards, each rank's span counts by itself; when the check fails, all ranks meet
// after all, and update twice more.
TEST_CASE("1F1B: post-validation leaves the longest span, a failed check adds two updates") {
  constexpr std::int64_t kF = 10, kB = 20;
  Random random(1);
  for (int i = 0; i < testing::draws(60); ++i) {
    const int ranks = random.between(1, 5), micro_batches = random.between(ranks, 9);
    std::vector<std::int64_t> reductions;
    for (int s = 0; s < ranks; ++s) reductions.push_back(random.between(0, 60));
    const StagePrices prices = with_tail(equal_prices(ranks, 1, {kF, 12, 8, 0}), reductions);
    const Schedule schedule = make_schedule("1f1b", {ranks, 1, micro_batches, 0});
    const std::int64_t all = (micro_batches + ranks - 1) * (kF + kB);
    std::int64_t reduced = 0, span = 0;
    for (int s = 0; s < ranks; ++s) {
      const std::int64_t end = all - s * kB + reductions[static_cast<std::size_t>(s)];
      reduced = std::max(reduced, end);
      span = std::max(span, end + kOptimizer - s * kF);
    }
    const auto of = [&](OptimizerGate gate) { return replayed(schedule, prices, ends_with(gate)); };
    CHECK(of(OptimizerGate::kGlobalBarrier).makespan == Duration{reduced + kNorm + kOptimizer});
    CHECK(of(OptimizerGate::kPostValidation).longest_span == Duration{span});
    CHECK(of(OptimizerGate::kRolledBack).makespan ==
          Duration{reduced + std::max(kNorm, kOptimizer) + 2 * kOptimizer});
  }
}

// ZB-H2 with F = I = W = t: no rank idles between its first forward and its last W, 3Mt later, but
// rank s begins st after rank 0. With equal reductions r the barrier makes all of them wait for the
// last rank: post-validation gains (P - 1)t and the norm.
TEST_CASE("ZB-H2: post-validation gains one forward per rank, and the norm") {
  constexpr std::int64_t kT = 10, kReduce = 4;
  for (int ranks = 2; ranks <= 6; ++ranks) {
    const int micro_batches = 2 * ranks;
    const StagePrices prices =
        with_tail(equal_prices(ranks, 1, {kT, kT, kT, 0}),
                  std::vector<std::int64_t>(static_cast<std::size_t>(ranks), kReduce));
    const Schedule schedule = make_schedule("zb-h2", {ranks, 1, micro_batches, 0});
    const auto barrier = replayed(schedule, prices, ends_with(OptimizerGate::kGlobalBarrier));
    const auto validated = replayed(schedule, prices, ends_with(OptimizerGate::kPostValidation));
    CHECK(barrier.makespan ==
          Duration{3 * micro_batches * kT + (ranks - 1) * kT + kReduce + kNorm + kOptimizer});
    CHECK(validated.longest_span == Duration{3 * micro_batches * kT + kReduce + kOptimizer});
    CHECK(barrier.makespan - validated.longest_span == Duration{(ranks - 1) * kT + kNorm});
  }
}

TEST_CASE("every schedule ends its step alike in all engines, whichever the gate") {
  Random random(2);
  for (int i = 0; i < testing::draws(200); ++i) {
    const Schedule schedule = testing::random_schedule(random, 4, 6);
    LoweringOptions options = ends_with(static_cast<OptimizerGate>(random.between(0, 2)));
    options.unshard = random.coin();
    const StagePrices prices = testing::random_prices(random, schedule.stages(), 1);
    (void)replayed(schedule, prices, options);
  }
}

TEST_CASE("a failed check has three updates per stage, the last two behind the norm") {
  const Program program =
      lower({input_of(make_schedule("1f1b", {2, 1, 1, 0}))}, ends_with(OptimizerGate::kRolledBack));
  CHECK(testing::text_of(program, 0) ==
        "0F0 0SEND_F0 0RECV_B0 0B0 0REDUCE_GRAD 0OPT 0NORM 0OPT 0OPT");
}

}  // namespace
}  // namespace penstock
