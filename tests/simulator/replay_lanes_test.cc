// Lanes against separate replays, bit for bit, on random Programs.
#include "simulator/replay_lanes.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/jitter.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/simulator/varuna.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::input_of;
using testing::lowered;
using testing::PricedProgram;
using testing::Random;
using testing::random_program;

// Mostly one in which transfers occupy nothing: the others are not replayed in lanes.
ExecutorModel random_executor(Random& random) {
  ExecutorModel executor;
  if (random.between(0, 5) == 0) executor.transfer = TransferMode::kSenderBlocks;
  if (random.between(0, 5) == 0) executor.queues = QueueLayout::kPerDirection;
  executor.per_action = Duration{random.between(0, 2)};
  executor.per_transfer = Duration{random.between(0, 2)};
  executor.per_step = Duration{random.between(0, 9)};
  return executor;
}

std::vector<StagePrices> random_lanes(Random& random, const PricedProgram& priced, int lanes) {
  std::vector<StagePrices> result{priced.prices};
  while (result.size() < static_cast<std::size_t>(lanes)) {
    result.push_back(testing::random_prices(random, priced.prices.stages, priced.prices.shapes,
                                            testing::names_of(priced.prices.tied_reduce)));
    for (ComputePrice& compute : result.back().compute) {
      compute.overlap_gain = Duration{random.between(0, 4)};
    }
  }
  return result;
}

TEST_CASE("every lane equals the replay of its prices") {
  Random random(30);
  for (int round = 0; round < testing::draws(1500); ++round) {
    const PricedProgram priced = random_program(random);
    const ExecutorModel executor = random_executor(random);
    const auto lanes = random_lanes(random, priced, random.between(6, 20));
    const auto summaries = replay_lanes(priced.program, lanes, executor);
    REQUIRE(summaries.size() == lanes.size());
    for (std::size_t k = 0; k < lanes.size(); ++k) {
      REQUIRE(summaries[k] == simulate_summary(priced.program, lanes[k], executor));
    }
  }
}

void add_random_spreads(Random& random, StagePrices& prices) {
  const auto spread = [&] { return Duration{random.between(0, 3)}; };
  for (ComputePrice& compute : prices.compute) {
    compute.forward.spread = spread();
    compute.input_gradient.spread = spread();
    compute.weight_gradient.spread = spread();
    compute.fused_backward.spread = spread();
    compute.overlap_gain = spread();
  }
  for (TransferPrice& transfer : prices.transfer) transfer.gradient.spread = spread();
  for (StepPrice& step : prices.step) step.optimizer.spread = spread();
  prices.norm.spread = spread();
}

TEST_CASE("every jittered lane is what the event queue makes of its durations") {
  Random random(31);
  for (int round = 0; round < testing::draws(600); ++round) {
    PricedProgram priced = random_program(random);
    add_random_spreads(random, priced.prices);
    const ExecutorModel executor = random_executor(random);
    const JitteredLanes lanes{random.next(), random.next() % 1000,
                              static_cast<std::size_t>(random.between(1, 20))};
    const auto summaries = replay_jittered(priced.program, priced.prices, lanes, executor);
    REQUIRE(summaries.size() == lanes.lanes);
    EventSimulation simulation(priced.program, executor);
    for (std::size_t k = 0; k < lanes.lanes; ++k) {
      const Timeline timeline = simulation.run(jittered_durations(
          priced.program, priced.prices, executor, lanes.seed, lanes.first_lane + k));
      REQUIRE(summaries[k] == summarize(priced.program, timeline));
    }
  }
}

TEST_CASE("without spreads every jittered lane is the plain replay") {
  Random random(32);
  for (int round = 0; round < 50; ++round) {
    const PricedProgram priced = random_program(random);
    const auto plain = simulate_summary(priced.program, priced.prices, {});
    for (const auto& lane : replay_jittered(priced.program, priced.prices, {1, 0, 9}, {})) {
      CHECK(lane == plain);
    }
  }
}

TEST_CASE("a lane is the same whatever else is sampled, and in whatever order actions are stored") {
  LoweringOptions options;
  options.issue = IssueOrder::kDeepSpeed;
  const PipelineInput input = input_of(make_schedule("1f1b", {4, 1, 8, 0}));
  const Program program = lower({input}, {}), other_order = lower({input}, options);
  StagePrices prices = equal_prices(4, 1, {1000, 1000, 1000, 10});
  for (ComputePrice& compute : prices.compute) {
    compute.forward.spread = compute.fused_backward.spread = Duration{100};
  }
  const auto all = replay_jittered(program, prices, {5, 0, 40}, {});
  CHECK(all[0] != all[1]);
  const auto some = replay_jittered(program, prices, {5, 13, 3}, {});
  CHECK(std::equal(some.begin(), some.end(), all.begin() + 13));
  CHECK(replay_jittered(other_order, prices, {5, 0, 40}, {}) == all);
  CHECK(replay_jittered(program, prices, {6, 13, 3}, {}) != some);
}

TEST_CASE("a run-time rule decides anew in every lane") {
  const Program program = testing::varuna_program(4, 8, RunTimeRule::kVaruna);
  StagePrices prices = testing::varuna_prices(4, {20, 40, 3, 3, 4});
  for (ComputePrice& compute : prices.compute) compute.forward.spread = Duration{5};
  const auto lanes = replay_jittered(program, prices, {1, 0, 3}, {});
  for (std::uint64_t k = 0; k < lanes.size(); ++k) {
    const auto durations = jittered_durations(program, prices, {}, 1, k);
    CHECK(lanes[k] == summarize(program, EventSimulation(program, {}).run(durations)));
  }
  CHECK(replay_lanes(program, std::vector{prices}, {})[0] == simulate_summary(program, prices, {}));
}

// As in tests/simulator/executor_test.cc: the first optimizer is stored before the reduction it
// waits for is complete.
TEST_CASE("a stored order that completes a collective late is no obstacle") {
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  options.optimizer = OptimizerGate::kPostValidation;
  const PipelineInput input = input_of(make_schedule("1f1b", {1, 1, 1, 0}));
  Program program = lower({input, input}, options);
  REQUIRE(program.actions.size() == 8);
  std::rotate(program.actions.begin() + 5, program.actions.begin() + 6,
              program.actions.begin() + 7);
  program.actions[7].waits_for = 6;
  StagePrices prices = equal_prices(1, 1, {10, 12, 8, 0});
  prices.step[0].reduce_gradient.duration = Duration{5};
  prices.step[0].optimizer.duration = Duration{6};
  const std::vector<StagePrices> lanes(9, prices);
  for (const TimelineSummary& summary : replay_lanes(program, lanes, {})) {
    CHECK(summary.makespan == Duration{41});
  }
  CHECK(replay_jittered(program, prices, {1, 0, 1}, {})[0].makespan == Duration{41});
}

TEST_CASE("lanes need prices for the Program, and equally many shapes") {
  const Program program = lowered("1f1b", {2, 1, 2, 0});
  CHECK(replay_lanes(program, {}, {}).empty());
  std::vector<StagePrices> lanes(2, equal_prices(2, 1, {10, 12, 8, 3}));
  lanes[1] = equal_prices(3, 1, {10, 12, 8, 3});
  CHECK_THROWS_WITH_AS((void)replay_lanes(program, lanes, {}),
                       "prices: 3 stages, but the program has 2", Error);
  lanes[1].shapes = 2;
  CHECK_THROWS_WITH_AS((void)replay_lanes(program, lanes, {}),
                       "prices: lanes of one replay need equally many shapes, found 1 and 2",
                       Error);
}

}  // namespace
}  // namespace penstock
