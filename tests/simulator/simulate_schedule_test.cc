// The plain way is the oracle: lower(), then simulate_summary().
#include "simulator/simulate_schedule.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::Random;

std::vector<MicroBatchRun> runs_of(const std::vector<MicroBatch>& micro_batches) {
  std::vector<MicroBatchRun> runs;
  for (const MicroBatch& micro_batch : micro_batches) {
    if (runs.empty() || !(runs.back().each == micro_batch)) runs.push_back({0, micro_batch});
    ++runs.back().count;
  }
  return runs;
}

void check_both_ways(const std::vector<PipelineInput>& pipelines, const LoweringOptions& options,
                     const StagePrices& prices, const ExecutorModel& executor) {
  const TimelineSummary expected = simulate_summary(lower(pipelines, options), prices, executor);
  std::vector<RolledInput> rolled;
  for (const PipelineInput& pipeline : pipelines) {
    rolled.push_back({&pipeline.schedule, runs_of(pipeline.micro_batches), pipeline.replicas});
  }
  const auto plain = simulate_schedule_counted(rolled, options, prices, executor, false).summary;
  CHECK(plain.makespan == expected.makespan);
  CHECK(plain.longest_span == expected.longest_span);
  CHECK(plain.busy == expected.busy);
  REQUIRE(simulate_schedule(rolled, options, prices, executor) == expected);
}

LoweringOptions random_options(Random& random, int stages) {
  LoweringOptions options;
  options.recompute = random.coin();
  options.transfers = random.between(0, 3) > 0;
  options.step_actions = random.coin();
  options.reduce_gradients = random.coin();
  options.unshard = options.reduce_gradients && random.coin();
  if (random.coin()) options.optimizer = OptimizerGate::kPostValidation;
  if (stages > 1 && random.coin()) options.tied.push_back({"embedding", {0, stages - 1}});
  return options;
}

// Small prices: ties and zeros are frequent, and steady states come late and change.
StagePrices random_prices(Random& random, int stages, int shapes, int most) {
  StagePrices prices = testing::random_prices(random, stages, shapes, 1);
  for (ComputePrice& price : prices.compute) {
    for (Price* p : {&price.forward, &price.input_gradient, &price.weight_gradient,
                     &price.fused_backward, &price.recompute}) {
      p->duration = Duration{random.between(0, most)};
    }
    price.overlap_gain = Duration{random.between(0, most)};
  }
  for (TransferPrice& price : prices.transfer) {
    price.activation.duration = Duration{random.between(0, random.coin() ? 0 : most)};
    price.gradient.duration = Duration{random.between(0, random.coin() ? 0 : most)};
  }
  return prices;
}

void check_random(std::uint64_t seed, int most_ranks, int most_micro_batches, int most_price) {
  Random random(seed);
  const Schedule schedule = testing::random_schedule(random, most_ranks, most_micro_batches);
  std::vector<PipelineInput> pipelines{testing::input_of(schedule)};
  if (random.coin()) pipelines[0].micro_batches.back().shape = 1;  // a short last one
  const StagePrices prices = random_prices(random, schedule.stages(), 2, most_price);
  ExecutorModel executor;
  if (random.coin()) executor.per_action = Duration{3};
  if (random.coin()) executor.per_transfer = Duration{2};
  INFO("seed ", seed, ": ", schedule.name, " P=", schedule.ranks, " V=", schedule.chunks,
       " M=", schedule.micro_batches);
  check_both_ways(pipelines, random_options(random, schedule.stages()), prices, executor);
}

TEST_CASE("a schedule takes as long as its Program: a thousand small ones") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) check_random(seed, 6, 40, 7);
}

TEST_CASE("and as many with long steady states") {
  for (std::uint64_t seed = 1000; seed < 2000; ++seed) check_random(seed, 5, 300, 9);
}

TEST_CASE("and with prices of many digits, so that slopes differ little") {
  for (std::uint64_t seed = 2000; seed < 3000; ++seed) check_random(seed, 5, 400, 1'000'000);
}

TEST_CASE("and some with ten thousand micro-batches") {
  for (std::uint64_t seed = 3000; seed < 3040; ++seed) check_random(seed, 6, 10'000, 1000);
}

// Equal stages, c = 3: (M + P - 1)(F + B) + 2c(P + M - 3 - floor((M - 2) / P)), whatever M.
TEST_CASE("ten million micro-batches of 1F1B are the closed form") {
  const ScheduleShape shape{8, 1, 10'000'000};
  const Schedule schedule = make_schedule("1f1b", shape);
  const StagePrices prices = testing::equal_prices(8, 1, {10, 12, 8, 3});
  const auto summary =
      simulate_schedule({{&schedule, {{shape.micro_batches, {}}}}}, {}, prices, {});
  const std::int64_t m = shape.micro_batches;
  CHECK(summary.makespan == Duration{(m + 7) * 30 + 6 * (8 + m - 3 - (m - 2) / 8)});
  CHECK(summary.ideal == Duration{m * 30});
}

}  // namespace
}  // namespace penstock
