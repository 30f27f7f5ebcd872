// The host updates: gradients are stored, stepped there, and weights loaded into the place where
// they were. Worked out on paper, and on random Programs against the oracle of the rules.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/order_actions.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/lower.h"
#include "simulator/replay.h"
#include "simulator/replay_lanes.h"
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

LoweringOptions offloading(OptimizerGate gate) {
  LoweringOptions options;
  options.step_actions = options.offload = true;
  options.optimizer = gate;
  return options;
}

// F 100, B 200 ns; a gradient goes to the host in 40 ns, is stepped in 50, and its weights come
// back in 30; the norm takes 10.
StagePrices with_host(int stages) {
  StagePrices prices = equal_prices(stages, 1, {100, 120, 80, 0});
  for (ComputePrice& price : prices.compute) price.fused_backward.duration = Duration{200};
  for (StepPrice& step : prices.step) {
    step.store.duration = Duration{40};
    step.optimizer.duration = Duration{50};
    step.load.duration = Duration{30};
  }
  prices.norm.duration = Duration{10};
  return prices;
}

// All engines, which agree with the oracle to the nanosecond; and the short cut of searches.
Timeline by_all(const Program& program, const StagePrices& prices, const ExecutorModel& executor) {
  const Timeline timeline = simulate(program, prices, executor);
  REQUIRE(timeline == replay(program, prices, executor));
  REQUIRE(timeline == simulate_by_worklist(program, prices, executor));
  REQUIRE(timeline == simulate_by_events(program, prices, executor));
  const testing::ActionTimes rules = testing::lists_by_the_rules(program, prices, executor);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    CAPTURE(name_of(program, program.actions[i]));
    REQUIRE(timeline.start[i] == SimTime{Duration{rules.start[i]}});
    REQUIRE(timeline.end[i] == SimTime{Duration{rules.end[i]}});
  }
  StagePrices slower = prices;
  for (StepPrice& step : slower.step) step.load.duration *= 2;
  const std::vector<StagePrices> lanes = {prices, slower, prices};
  const auto summaries = replay_lanes(program, lanes, executor);
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    REQUIRE(summaries[k] == simulate_summary(program, lanes[k], executor));
  }
  return timeline;
}

std::string times_of(const Program& program, const Timeline& timeline, const std::string& name) {
  const auto ns = [](SimTime time) { return std::to_string(time.time_since_epoch().count()); };
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (name_of(program, program.actions[i]) != name) continue;
    return ns(timeline.start[i]) + ".." + ns(timeline.end[i]);
  }
  return "not there";
}

// One micro-batch through two ranks: rank 1 goes back until 400, rank 0 until 600. What rank 1
// copies and steps is done at 520, in the cool-down of rank 0, unless it waits for the norm of all.
TEST_CASE("updates on the host go on beside the cool-down") {
  const Schedule schedule = make_schedule("1f1b", {2, 1, 1, 0});
  const StagePrices prices = with_host(2);
  for (const auto gate : {OptimizerGate::kPostValidation, OptimizerGate::kGlobalBarrier}) {
    const bool barrier = gate == OptimizerGate::kGlobalBarrier;
    const LoweringOptions options = offloading(gate);
    const Program program = lower({input_of(schedule)}, options);
    const Timeline timeline = by_all(program, prices, {});
    const auto at = [&](const char* name) { return times_of(program, timeline, name); };
    CHECK(at("1B0") == "200..400");
    CHECK(at("1STORE") == "400..440");
    CHECK(at("1OPT") == (barrier ? "610..660" : "440..490"));
    CHECK(at("1LOAD") == (barrier ? "660..690" : "490..520"));
    CHECK(at("0B0") == "400..600");
    CHECK(at("0STORE") == "600..640");
    CHECK(at("0OPT") == "640..690");
    CHECK(at("0LOAD") == "690..720");
    const TimelineSummary summary = summarize(program, timeline);
    CHECK(summary.makespan == Duration{720});
    CHECK(summary == simulate_schedule({{&schedule, {{1, {}}}}}, options, prices, {}));
  }
}

// Two stages on one rank go back until 400 (stage 1) and 600 (stage 0); STORE 1 is done at 440,
// STORE 0 at 640. The host steps stage 0 first, as lists have it: 640..690, then 690..740. On a
// link that both directions share nothing changes: no copy begins before the last STORE.
TEST_CASE("a rank's stages are stored as soon as they can be and stepped one after the other") {
  const Schedule schedule = make_schedule("interleaved", {1, 2, 1, 0});
  const StagePrices prices = with_host(2);
  for (const HostLink link : {HostLink::kDuplex, HostLink::kSimplex}) {
    ExecutorModel executor;
    executor.host_link = link;
    const LoweringOptions options = offloading(OptimizerGate::kPostValidation);
    const Program program = lower({input_of(schedule)}, options);
    const Timeline timeline = by_all(program, prices, executor);
    const auto at = [&](const char* name) { return times_of(program, timeline, name); };
    CHECK(at("1B0") == "200..400");
    CHECK(at("0B0") == "400..600");
    CHECK(at("0LOAD") == "690..720");
    CHECK(at("1OPT") == "690..740");
    CHECK(at("1LOAD") == "740..770");
    CHECK(summarize(program, timeline) ==
          simulate_schedule({{&schedule, {{1, {}}}}}, options, prices, executor));
  }
}

TEST_CASE(
    "any schedule with the optimizer on the host: all engines, the oracle and the short cut") {
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(testing::draws(150)); ++seed) {
    Random random(seed);
    const Schedule schedule = testing::random_schedule(random, 3, 5);
    if (schedule.rule != RunTimeRule::kNone) continue;
    INFO("seed ", seed, ": ", schedule.name);
    StagePrices prices = testing::random_prices(random, schedule.stages(), 1, {"embedding"});
    for (StepPrice& step : prices.step) {
      step.load.duration = Duration{random.between(0, 7)};
      step.store.duration = Duration{random.between(0, 7)};
    }
    LoweringOptions options =
        offloading(random.coin() ? OptimizerGate::kGlobalBarrier : OptimizerGate::kPostValidation);
    options.reduce_gradients = random.coin();
    options.unshard = options.reduce_gradients && random.coin();
    const int last = schedule.stages() - 1;
    if (last > 0 && schedule.copies == 1 && random.coin()) {
      options.tied.push_back({"embedding", {0, last}});
    }
    ExecutorModel executor;
    if (random.coin()) executor.host_link = HostLink::kSimplex;
    const Program program = lower({input_of(schedule)}, options);
    const Timeline timeline = by_all(program, prices, executor);
    CHECK(summarize(program, timeline) ==
          simulate_schedule({{&schedule, {{schedule.micro_batches, {}}}}}, options, prices,
                            executor));
  }
}

}  // namespace
}  // namespace penstock
