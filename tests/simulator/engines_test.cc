// The engines against each other and against the rules, on random Programs under random executor
// models.
#include <doctest/doctest.h>

#include "core/values/executor_model.h"
#include "simulator/replay.h"
#include "simulator/simulate.h"
#include "tests/simulator/by_the_rules.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::input_of;
using testing::PricedProgram;
using testing::Random;
using testing::random_program;

ExecutorModel random_executor(Random& random) {
  ExecutorModel executor;
  executor.transfer = static_cast<TransferMode>(random.between(0, 2));
  executor.queues = static_cast<QueueLayout>(random.between(0, 3));
  executor.receive_must_be_posted = random.coin();
  if (random.coin()) executor.per_action = Duration{random.between(0, 3)};
  if (random.coin()) executor.per_transfer = Duration{random.between(0, 3)};
  if (random.coin()) executor.per_step = Duration{random.between(0, 30)};
  return executor;
}

TEST_CASE("the straight replay and the general engine agree on random Programs, bit for bit") {
  Random random(4);
  for (int i = 0; i < testing::draws(3000); ++i) {
    const IssueOrder issue = random.coin() ? IssueOrder::kEager : IssueOrder::kDeepSpeed;
    const auto [program, prices] = random_program(random, {false, issue});
    ExecutorModel executor = random_executor(random);
    executor.transfer = TransferMode::kAsync;
    executor.queues = QueueLayout::kNone;
    executor.receive_must_be_posted = false;
    REQUIRE(straight_replay_is_exact(executor));
    const Timeline timeline = replay(program, prices, executor);
    REQUIRE(timeline == simulate_by_worklist(program, prices, executor));
    REQUIRE(simulate_summary(program, prices, executor) == summarize(program, timeline));
  }
}

TEST_CASE("PyTorch's issue order runs under every executor model, and gates only delay") {
  Random random(5);
  for (int i = 0; i < testing::draws(1000); ++i) {
    const auto [program, prices] = random_program(random);
    const ExecutorModel executor = random_executor(random);
    REQUIRE_FALSE(deadlock(program, executor).has_value());
    const Timeline timeline = simulate(program, prices, executor);
    REQUIRE(simulate_summary(program, prices, executor) == summarize(program, timeline));
    const Timeline ideal = simulate(program, prices, {});
    for (std::size_t a = 0; a < ideal.end.size(); ++a) REQUIRE(ideal.end[a] <= timeline.end[a]);
  }
}

TEST_CASE("the step of a lowered schedule is what the rules of its lists say") {
  Random random(6);
  for (int i = 0; i < testing::draws(1500); ++i) {
    const Schedule schedule = testing::random_schedule(random, 6, 12);
    const StagePrices prices = testing::random_prices(random, schedule.stages(), 1);
    const Program program = lower({input_of(schedule)}, {});
    REQUIRE(simulate(program, prices, {}).step_end ==
            SimTime{} + testing::by_the_rules(schedule, prices));
  }
}

// One of the numbers of a table of prices.
Duration& random_duration(Random& random, StagePrices& prices) {
  const auto pick = [&](auto& entries) -> auto& {
    return entries[static_cast<std::size_t>(
        random.between(0, static_cast<int>(entries.size()) - 1))];
  };
  switch (random.between(0, 9)) {
    case 0:
      return pick(prices.compute).forward.duration;
    case 1:
      return pick(prices.compute).input_gradient.duration;
    case 2:
      return pick(prices.compute).weight_gradient.duration;
    case 3:
      return pick(prices.compute).fused_backward.duration;
    case 4:
      return pick(prices.compute).recompute.duration;
    case 5:
      return pick(prices.transfer).activation.duration;
    case 6:
      return pick(prices.transfer).gradient.duration;
    case 7:
      return pick(prices.step).reduce_gradient.duration;
    case 8:
      return pick(prices.step).optimizer.duration;
    default:
      return prices.norm.duration;
  }
}

TEST_CASE("raising a duration never shortens the step of a fixed order") {
  Random random(7);
  int longer = 0;
  for (int i = 0; i < testing::draws(1500); ++i) {
    PricedProgram priced = random_program(random);
    const ExecutorModel executor = random.coin() ? ExecutorModel{} : random_executor(random);
    const Timeline before = simulate(priced.program, priced.prices, executor);
    random_duration(random, priced.prices) += Duration{random.between(1, 9)};
    const Timeline after = simulate(priced.program, priced.prices, executor);
    for (std::size_t a = 0; a < before.end.size(); ++a) REQUIRE(before.end[a] <= after.end[a]);
    REQUIRE(before.step_end <= after.step_end);
    longer += before.step_end < after.step_end ? 1 : 0;
  }
  CHECK(longer > testing::least(300));
}

}  // namespace
}  // namespace penstock
