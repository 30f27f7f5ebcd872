// The plain way is the oracle: all micro-batches lowered and replayed by the general engine.
#include "simulator/steady_program.h"

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/simulate.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::add_random_step_actions;
using testing::Random;

ExecutorModel random_executor(Random& random) {
  ExecutorModel executor;
  executor.transfer = random.coin()   ? TransferMode::kRendezvous
                      : random.coin() ? TransferMode::kSenderBlocks
                                      : TransferMode::kAsync;
  executor.queues = static_cast<QueueLayout>(random.between(0, 3));
  executor.receive_must_be_posted = random.coin();
  if (random.coin()) {
    executor.transfer = TransferMode::kRendezvous;
    executor.issue = IssueOrder::kDeepSpeed;
  }
  executor.per_action = Duration{random.between(0, 3)};
  return executor;
}

LoweringOptions random_options(Random& random, const ExecutorModel& executor, int stages) {
  LoweringOptions options;
  options.issue = executor.issue;
  options.recompute = random.coin();
  add_random_step_actions(random, stages, options);
  return options;
}

// Small prices, whose ties are frequent, or large ones.
StagePrices random_prices(Random& random, int stages) {
  StagePrices prices = testing::random_prices(random, stages, 2, {"embedding"});
  if (random.coin()) return prices;
  for (ComputePrice& price : prices.compute) {
    for (Price* p : {&price.forward, &price.input_gradient, &price.weight_gradient,
                     &price.fused_backward, &price.recompute}) {
      p->duration = Duration{random.between(1, 6)};
    }
  }
  for (TransferPrice& price : prices.transfer) {
    price.activation.duration = Duration{random.between(0, 3)};
    price.gradient.duration = Duration{random.between(0, 3)};
  }
  return prices;
}

// Whether a period was found.
bool finds_and_agrees(std::uint64_t seed) {
  Random random(seed);
  const auto& kinds = schedule_kinds();
  const ScheduleKind& kind =
      kinds[static_cast<std::size_t>(random.between(0, static_cast<int>(kinds.size()) - 1))];
  if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) return false;
  const bool chunked = !why_no_schedule(kind, {2, 1, 64}).empty();
  ScheduleShape shape{random.between(1, 4), chunked ? 2 : 1, 0};
  shape.micro_batches =
      shape.ranks * random.between(100, 220) + (chunked ? 0 : random.between(0, 3));
  if (!why_no_schedule(kind, shape).empty()) return false;
  const Schedule schedule = kind.generate(shape);
  const ExecutorModel executor = random_executor(random);
  const LoweringOptions options = random_options(random, executor, schedule.stages());
  const StagePrices prices = random_prices(random, schedule.stages());
  const bool short_last = random.coin();
  const LowerFewer lower_fewer = [&](std::int64_t fewer) {
    ScheduleShape smaller = shape;
    smaller.micro_batches -= static_cast<int>(fewer);
    std::vector<PipelineInput> pipelines{testing::input_of(kind.generate(smaller))};
    if (short_last) pipelines[0].micro_batches.back().shape = 1;
    return lower(pipelines, options);
  };
  INFO("seed ", seed, ": ", schedule.name, " P=", schedule.ranks, " V=", schedule.chunks,
       " M=", schedule.micro_batches);
  const Program program = lower_fewer(0);
  const bool stuck = deadlock(program, executor).has_value();
  const auto many =
      many_micro_batches(shape.micro_batches, shape.ranks, shape.chunks, 0, schedule.copies);
  CHECK(deadlocks(many, lower_fewer, executor).value_or(stuck) == stuck);
  if (stuck) return false;
  const auto steady = steady_program(many, lower_fewer, prices, executor);
  if (!steady) return false;
  const Timeline timeline = simulate(program, prices, executor);
  CHECK(steady->summary() == summarize(program, timeline));
  CHECK(steady->idle(executor, 1) == attribute_idle(program, timeline, executor));
  CHECK(steady->actions() == std::ssize(program.actions));
  CHECK(liveness(steady->first) == liveness(program));
  return true;
}

TEST_CASE("a Program of many micro-batches takes as long as those of few say") {
  int found = 0;
  const int tried = testing::draws(1000);
  for (int seed = 0; seed < tried; ++seed) {
    if (finds_and_agrees(static_cast<std::uint64_t>(seed))) ++found;
  }
  CHECK(found > testing::least(150));
}

}  // namespace
}  // namespace penstock
