// The replay by rule on the schedule against the event queue on the Program: times to the
// nanosecond, and what ranks hold.
#include "simulator/rule_replay.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/events/executed_order.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"
#include "tests/simulator/pipelines.h"
#include "tests/simulator/varuna.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;
using testing::varuna_prices;
using testing::VarunaCosts;

constexpr const char* kNames[] = {"varuna", "varuna-runtime", "varuna-strict"};

LoweringOptions random_options(Random& random, int stages) {
  LoweringOptions options;
  options.transfers = random.between(0, 4) > 0;
  options.step_actions = random.coin();
  options.reduce_gradients = random.coin();
  options.unshard = options.reduce_gradients && random.coin();
  if (random.coin()) options.optimizer = OptimizerGate::kPostValidation;
  if (stages > 1 && random.coin()) options.tied.push_back({"embedding", {0, stages - 1}});
  return options;
}

// Stages that are alike, that differ a little, and that differ a thousandfold.
StagePrices tied_prices(Random& random, int stages) {
  StagePrices prices = testing::random_prices(random, stages, 2, {"embedding"});
  const int most = random.coin() ? 4 : random.coin() ? 1 : 1000;
  for (ComputePrice& price : prices.compute) {
    const int here = random.coin() ? most : 3;
    for (Price* each : {&price.forward, &price.fused_backward}) {
      each->duration = Duration{random.between(1, here)};
    }
    price.recompute.duration = Duration{random.between(0, here)};
  }
  for (TransferPrice& price : prices.transfer) {
    price.activation.duration = Duration{random.between(0, random.coin() ? 0 : most)};
    price.gradient.duration = Duration{random.between(0, random.coin() ? 0 : 2 * most)};
  }
  return prices;
}

struct Case {
  std::vector<PipelineInput> pipelines;
  LoweringOptions options;
  StagePrices prices;
  ExecutorModel executor;
};

// One pipeline or two of other lengths, each with a short micro-batch somewhere.
Case random_case(Random& random) {
  Case result;
  const int ranks = random.between(1, 7);
  const char* name = kNames[random.between(0, 2)];
  for (int p = random.between(1, 2); p > 0; --p) {
    PipelineInput input;
    input.schedule = make_schedule(name, {ranks, 1, random.between(1, random.coin() ? 60 : 8)});
    input.micro_batches.resize(static_cast<std::size_t>(input.schedule.micro_batches));
    const int other = random.between(0, input.schedule.micro_batches - 1);
    if (random.coin()) input.micro_batches[static_cast<std::size_t>(other)].shape = 1;
    if (random.coin()) input.micro_batches.back().shape = 1;
    input.replicas = random.between(1, 3);
    result.pipelines.push_back(std::move(input));
  }
  result.options = random_options(random, ranks);
  result.prices = tied_prices(random, ranks);
  if (random.coin()) result.executor.per_action = Duration{3};
  if (random.coin()) result.executor.per_transfer = Duration{2};
  return result;
}

std::vector<RolledInput> rolled(const std::vector<PipelineInput>& pipelines) {
  std::vector<RolledInput> result;
  for (const PipelineInput& pipeline : pipelines) {
    RolledInput input{&pipeline.schedule, {}, pipeline.replicas};
    for (const MicroBatch& micro_batch : pipeline.micro_batches) {
      if (input.micro_batches.empty() || !(input.micro_batches.back().each == micro_batch)) {
        input.micro_batches.push_back({0, micro_batch});
      }
      ++input.micro_batches.back().count;
    }
    result.push_back(std::move(input));
  }
  return result;
}

TEST_CASE("the replay by rule is the event queue's, to the nanosecond, and so is what ranks hold") {
  Random random(12);
  ReplayBuffers buffers;
  for (int round = 0; round < testing::draws(4000); ++round) {
    CAPTURE(round);
    const Case one = random_case(random);
    const auto told = static_cast<int>(one.pipelines.size());
    const auto ruled = simulate_by_rule(rolled(one.pipelines), one.options, one.prices,
                                        one.executor, buffers, told);
    REQUIRE(ruled.has_value());
    const Program program = lower(one.pipelines, one.options);
    const Timeline timeline = simulate(program, one.prices, one.executor);
    REQUIRE(ruled->summary == summarize(program, timeline));
    REQUIRE(ruled->held == liveness(as_executed(program, timeline).program, told));
  }
}

Duration makespan_under(const std::string& name, int ranks, int micro_batches,
                        const VarunaCosts& costs) {
  const Schedule schedule = make_schedule(name, {ranks, 1, micro_batches});
  ReplayBuffers buffers;
  const auto ruled = simulate_by_rule({RolledInput{&schedule, {{micro_batches, {}}}}}, {},
                                      varuna_prices(ranks, costs), {}, buffers);
  return ruled ? ruled->summary.makespan : Duration{-1};
}

// Varuna's own simulator says 5,660 and 43,712 ms (docs/schedules.md).
TEST_CASE("the published totals") {
  const VarunaCosts costs{20'000'000, 40'000'000, 3'000'000, 12'000'000, 4};
  const auto ms = [](std::int64_t n) { return Duration{n * 1'000'000}; };
  CHECK(makespan_under("varuna", 8, 64, costs) == ms(5'660));
  CHECK(makespan_under("varuna", 32, 512, costs) == ms(43'712));
  CHECK(makespan_under("varuna-runtime", 8, 64, costs) == ms(5'534));
  CHECK(makespan_under("varuna-runtime", 32, 512, costs) == ms(43'092));
  CHECK(makespan_under("varuna-strict", 32, 512, costs) == ms(43'712));
}

TEST_CASE("what needs the Program is left to it") {
  ReplayBuffers buffers;
  const Schedule varuna = make_schedule("varuna", {3, 1, 6});
  const RolledInput input{&varuna, {{6, {}}}};
  const StagePrices prices = varuna_prices(3, {10, 20, 5, 5, 1});
  CHECK(simulate_by_rule({input}, {}, prices, {}, buffers).has_value());
  ExecutorModel rendezvous;
  rendezvous.transfer = TransferMode::kRendezvous;
  CHECK_FALSE(simulate_by_rule({input}, {}, prices, rendezvous, buffers).has_value());
  StagePrices no_time = prices;
  no_time.compute[1].forward.duration = Duration{};
  CHECK_FALSE(simulate_by_rule({input}, {}, no_time, {}, buffers).has_value());
  Schedule other = make_schedule("1f1b", {3, 1, 6});
  other.rule = RunTimeRule::kVaruna;
  CHECK_FALSE(simulate_by_rule({RolledInput{&other, {{6, {}}}}}, {}, prices, {}, buffers));
}

}  // namespace
}  // namespace penstock
