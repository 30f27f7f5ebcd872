// The event queue against the replay where both apply, and Varuna's rules on paper.
#include "simulator/events/simulate_by_events.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "simulator/events/executed_order.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/simulator/varuna.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::equal_prices;
using testing::lowered;
using testing::PricedProgram;
using testing::Random;
using testing::random_program;
using testing::varuna_prices;
using testing::varuna_program;
using testing::VarunaCosts;

constexpr std::int64_t kMs = 1'000'000;

std::int64_t step_end(const Timeline& timeline) {
  return timeline.step_end.time_since_epoch().count();
}

// "12..34" for the named action.
std::string times(const Program& program, const Timeline& timeline, const std::string& name) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (name_of(program, program.actions[i]) != name) continue;
    return std::to_string(timeline.start[i].time_since_epoch().count()) + ".." +
           std::to_string(timeline.end[i].time_since_epoch().count());
  }
  return "no " + name;
}

ExecutorModel random_executor(Random& random, IssueOrder issue) {
  ExecutorModel executor;
  executor.issue = issue;
  executor.transfer = static_cast<TransferMode>(random.between(0, 2));
  executor.queues = static_cast<QueueLayout>(random.between(0, 3));
  executor.receive_must_be_posted = random.coin();
  executor.per_action = Duration{random.between(0, 2)};
  executor.per_transfer = Duration{random.between(0, 2)};
  executor.per_step = Duration{random.between(0, 9)};
  return executor;
}

TEST_CASE("a static Program takes the same times as in the replay, under every executor model") {
  Random random(20);
  int compared = 0;
  for (int round = 0; round < testing::draws(1500); ++round) {
    const IssueOrder issue = random.coin() ? IssueOrder::kEager : IssueOrder::kDeepSpeed;
    const PricedProgram priced = random_program(random, {false, issue});
    const ExecutorModel executor = random_executor(random, issue);
    if (deadlock(priced.program, executor)) {
      CHECK_THROWS_AS((void)simulate_by_events(priced.program, priced.prices, executor), Error);
      continue;
    }
    ++compared;
    CHECK(simulate_by_events(priced.program, priced.prices, executor) ==
          simulate(priced.program, priced.prices, executor));
  }
  CHECK(compared > testing::least(500));
}

TEST_CASE("one prepared simulation can run again and again") {
  const Program program = lowered("1f1b", {3, 1, 4, 0});
  const ActionDurations durations =
      action_durations(program, equal_prices(3, 1, {10, 12, 8, 3}), {});
  EventSimulation simulation(program, {});
  const Timeline first = simulation.run(durations);
  CHECK(simulation.run(durations) == first);
  CHECK(simulation.step_end(durations) == first.step_end);
}

// Varuna's published case: every stage F = R = 20 ms, B = 40 ms, transfers 3 ms inside groups of
// four and 12 ms between them. The totals do not depend on how ties are broken.
TEST_CASE("Varuna's totals: with the swap, without it, and with its runtime's rule") {
  struct Case {
    int ranks, micro_batches;
    std::int64_t with_swap, without, by_runtime;
  };
  const VarunaCosts costs{20 * kMs, 40 * kMs, 3 * kMs, 12 * kMs, 4};
  for (const Case& c : {Case{8, 64, 5'660, 6'266, 5'534}, Case{32, 512, 43'712, 48'132, 43'092}}) {
    const StagePrices prices = varuna_prices(c.ranks, costs);
    const auto total = [&](RunTimeRule rule) {
      return step_end(simulate(varuna_program(c.ranks, c.micro_batches, rule), prices, {}));
    };
    CHECK(total(RunTimeRule::kVaruna) == c.with_swap * kMs);
    CHECK(total(RunTimeRule::kVarunaStrict) == c.with_swap * kMs);  // equal on even stages
    CHECK(total(RunTimeRule::kNone) == c.without * kMs);
    CHECK(total(RunTimeRule::kVarunaRuntime) == c.by_runtime * kMs);
  }
}

// Without transfers: rank 1: F0 20-40, B0 40-80, F1 80-100, B1 100-140. Rank 0: F0 0-20, F1 20-40,
// R0 80-100, B0 100-140, R1 140-160, B1 160-200. The runtime recomputes at once: R0 40-60, B0
// 80-120, R1 120-140, B1 140-180.
TEST_CASE("the runtime recomputes before the gradient arrives when no forward is left") {
  const StagePrices prices = varuna_prices(2, {20, 40, 0, 0, 1});
  const Program waiting = varuna_program(2, 2, RunTimeRule::kVaruna);
  const Timeline waits = simulate(waiting, prices, {});
  CHECK(times(waiting, waits, "1F1") == "80..100");
  CHECK(times(waiting, waits, "0R0") == "80..100");
  CHECK(times(waiting, waits, "0B0") == "100..140");
  CHECK(times(waiting, waits, "0R1") == "140..160");
  CHECK(step_end(waits) == 200);
  const Program eager = varuna_program(2, 2, RunTimeRule::kVarunaRuntime);
  const Timeline at_once = simulate(eager, prices, {});
  CHECK(times(eager, at_once, "0R0") == "40..60");
  CHECK(times(eager, at_once, "0B0") == "80..120");
  CHECK(times(eager, at_once, "0R1") == "120..140");
  CHECK(step_end(at_once) == 180);
}

// Two ranks, four micro-batches, F = R = 10, B = 20, transfers 5; rank 0 lists F0 F1 F2 R0 B0 R1 B1
// R2 B2 F3 R3 B3. Activation 0 arrives at 15, rank 1 runs F0 15-25 and B0 25-45, and its gradient
// is back at 50. Rank 0 has nothing to recompute at 30, so F3 goes first.
TEST_CASE("a forward goes before a recompute whose gradient has not arrived") {
  const Program program = varuna_program(2, 4, RunTimeRule::kVaruna);
  const StagePrices prices = varuna_prices(2, {10, 20, 5, 5, 1});
  const Timeline timeline = simulate(program, prices, {});
  CHECK(times(program, timeline, "0F3") == "30..40");
  CHECK(times(program, timeline, "0R0") == "50..60");
  CHECK(times(program, timeline, "0SEND_F3") == "40..45");  // moved with its compute
  CHECK(times(program, timeline, "1RECV_F3") == "45..45");
  CHECK(peak_stash(program, timeline) == std::vector<std::int64_t>{4, 1});
  const Program in_order = varuna_program(2, 4, RunTimeRule::kNone);
  CHECK(peak_stash(in_order, simulate(in_order, prices, {})) == std::vector<std::int64_t>{3, 1});
}

// Three ranks, six micro-batches, no transfer times; rank 1 lists F0 F1 F2 R0 B0 R1 B1 R2 B2 F3 ..
// F = R = B = 10, but rank 0 takes F = 45 and rank 2 B = 30.
//   rank 0: F0..F5 end at 45, 90, 135, 180, 225, 270
//   rank 1: F0 45-55, F1 90-100, F2 135-145, R0 145-155, B0 -165, R1 -175, B1 -185, then R2
//   rank 2: F0 55-65, B0 65-95, F1 100-110, B1 110-140, F2 145-155, B2 155-185
// The gradient of 2 arrives at 185, when rank 1 looks for it.
TEST_CASE("what arrives at the instant of the look is there") {
  StagePrices prices = varuna_prices(3, {10, 10, 0, 0, 1});
  prices.compute[0].forward.duration = Duration{45};
  prices.compute[2].fused_backward.duration = Duration{30};
  const Program program = varuna_program(3, 6, RunTimeRule::kVaruna);
  CHECK(times(program, simulate(program, prices, {}), "1R2") == "185..195");
  prices.compute[2].fused_backward.duration = Duration{31};  // a nanosecond late
  CHECK(times(program, simulate(program, prices, {}), "1F3") == "185..195");
}

// The same with B = 90 on rank 2: the gradient of 0 leaves it at 65 + 90 = 155. Rank 1 looks for it
// at 145; activation 3 arrives at 180.
TEST_CASE("a forward that was moved is waited for; the strict rule moves none that is not there") {
  StagePrices prices = varuna_prices(3, {10, 10, 0, 0, 1});
  prices.compute[0].forward.duration = Duration{45};
  prices.compute[2].fused_backward.duration = Duration{90};
  const Program usual = varuna_program(3, 6, RunTimeRule::kVaruna);
  const Timeline moved = simulate(usual, prices, {});
  CHECK(times(usual, moved, "1F3") == "180..190");
  CHECK(times(usual, moved, "1R0") == "190..200");
  const Program strict = varuna_program(3, 6, RunTimeRule::kVarunaStrict);
  CHECK(times(strict, simulate(strict, prices, {}), "1R0") == "155..165");
}

TEST_CASE("inputs held per stage: far more than in the static order") {
  const StagePrices prices = varuna_prices(8, {20 * kMs, 40 * kMs, 3 * kMs, 12 * kMs, 4});
  const Program program = varuna_program(8, 64, RunTimeRule::kVaruna);
  CHECK(peak_stash(program, simulate(program, prices, {})) ==
        std::vector<std::int64_t>{36, 31, 26, 21, 15, 10, 5, 1});
  const Program in_order = varuna_program(8, 64, RunTimeRule::kNone);
  CHECK(peak_stash(in_order, simulate(in_order, prices, {})) ==
        std::vector<std::int64_t>{21, 18, 15, 12, 9, 6, 3, 1});
}

// Short, so that ties in time are frequent; transfers may take no time at all.
StagePrices random_varuna_prices(Random& random, int ranks) {
  StagePrices prices = testing::random_prices(random, ranks, 1);
  for (ComputePrice& price : prices.compute) {
    for (Price* each : {&price.forward, &price.recompute, &price.fused_backward}) {
      each->duration = Duration{random.between(1, 4)};
    }
  }
  return prices;
}

// The replay in stored order knows nothing of rules and queues of events.
TEST_CASE("replaying the order that came about gives the same times") {
  Random random(5);
  for (int round = 0; round < testing::draws(400); ++round) {
    const int ranks = random.between(1, 6);
    const auto rule = static_cast<RunTimeRule>(random.between(0, 3));
    const Program program = varuna_program(ranks, random.between(1, 20), rule);
    const StagePrices prices = random_varuna_prices(random, ranks);
    const ExecutedProgram executed = as_executed(program, simulate(program, prices, {}));
    CHECK(executed.program.rule == RunTimeRule::kNone);
    CHECK(simulate(executed.program, prices, {}) == executed.timeline);
  }
}

TEST_CASE("a rule needs transfers that nobody queues for") {
  const Program program = varuna_program(3, 4, RunTimeRule::kVaruna);
  const StagePrices prices = varuna_prices(3, {10, 20, 5, 5, 1});
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  CHECK_THROWS_AS((void)simulate(program, prices, executor), Error);
  executor = {};
  executor.queues = QueueLayout::kPerPeer;
  CHECK_THROWS_AS((void)simulate(program, prices, executor), Error);
}

TEST_CASE("a straggler holds up every rank behind it") {
  // 1F1B with one micro-batch on two ranks, F = 10, B = 20, c = 3: F0 0-10, 13-23, B 23-43, 46-66.
  // Rank 1 at 1.5 times: F 13-28, B 28-58, and rank 0's B 61-81.
  const Program program = lowered("1f1b", {2, 1, 1, 0});
  ActionDurations durations = action_durations(program, equal_prices(2, 1, {10, 12, 8, 3}), {});
  EventSimulation simulation(program, {});
  CHECK(step_end(simulation.run(durations)) == 66);
  slow_down(durations, program, RankId{1}, 1.5);
  CHECK(step_end(simulation.run(durations)) == 81);
}

TEST_CASE("durations that cannot be are refused") {
  const Program program = lowered("gpipe", {2, 1, 2, 0});
  EventSimulation simulation(program, {});
  ActionDurations durations(program.actions.size(), Duration{1});
  durations[0] = Duration{-1};
  CHECK_THROWS_AS((void)simulation.run(durations), Error);
  durations.assign(program.actions.size(), Duration::max());
  CHECK_THROWS_AS((void)simulation.run(durations), Error);
  durations.pop_back();
  CHECK_THROWS_AS((void)simulation.run(durations), Error);
}

}  // namespace
}  // namespace penstock
