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
  const auto held = liveness(steady->first());
  if (liveness(steady->second()) == held) CHECK(liveness(program) == held);
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

std::vector<ExecutorModel> executors_whose_ranks_meet() {
  ExecutorModel rendezvous, deepspeed;
  rendezvous.transfer = deepspeed.transfer = TransferMode::kRendezvous;
  deepspeed.issue = IssueOrder::kDeepSpeed;
  return {rendezvous, deepspeed};
}

// Nothing where the schedule's transfers deadlock.
std::optional<SteadyProgram> steady_of(const ScheduleKind& kind, const ScheduleShape& shape,
                                       const ExecutorModel& executor) {
  const Schedule schedule = kind.generate({shape.ranks, shape.chunks, 2 * shape.ranks});
  const LowerFewer lower_fewer = [&](std::int64_t fewer) {
    ScheduleShape smaller = shape;
    smaller.micro_batches -= static_cast<int>(fewer);
    LoweringOptions options;
    options.issue = executor.issue;
    return lower({testing::input_of(kind.generate(smaller))}, options);
  };
  const auto many =
      many_micro_batches(shape.micro_batches, shape.ranks, shape.chunks, 0, schedule.copies);
  if (deadlocks(many, lower_fewer, executor) != false) return std::nullopt;
  const StagePrices prices =
      testing::equal_prices(schedule.stages(), shape.chunks, {120, 132, 96, 7});
  auto steady = steady_program(many, lower_fewer, prices, executor);
  REQUIRE(steady.has_value());
  return steady;
}

// 5,040 is a multiple of every window that shows, so that windows alone differ.
TEST_CASE("every static schedule replays as many actions for 16 times as many micro-batches") {
  int checked = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.is_automatic() || kind.rule != RunTimeRule::kNone) continue;
    for (const int chunks : {1, 2}) {
      const ScheduleShape few{4, chunks, 5040}, many{4, chunks, 16 * 5040};
      if (!why_no_schedule(kind, few).empty() || !why_no_schedule(kind, many).empty()) continue;
      for (const ExecutorModel& executor : executors_whose_ranks_meet()) {
        INFO(kind.name, " V=", chunks, " issue=", static_cast<int>(executor.issue));
        const auto of_few = steady_of(kind, few, executor);
        const auto of_many = steady_of(kind, many, executor);
        REQUIRE(of_few.has_value() == of_many.has_value());
        if (!of_few) continue;
        CHECK(of_few->replayed == of_many->replayed);
        CHECK(of_few->first() == of_many->first());
        ++checked;
      }
    }
  }
  CHECK(checked > 15);
}

// Rank 0 forwards all, and waits for the last rank's first backward: P = 2, F = 2, B = 3, c = 1.
// A forward is followed by its transfer, which both ranks carry out, so that rank 0 takes F + c per
// micro-batch and rank 1 has time to compute meanwhile: its last forward ends at M (F + c) + F.
// Then rank 1 takes B + c per micro-batch, and the last backward of rank 0 follows: B.
TEST_CASE("GPipe, whose forwards and backwards are two phases, is the closed form") {
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  const ScheduleKind& kind = *find_schedule("gpipe");
  const StagePrices prices = testing::equal_prices(2, 1, {2, 1, 2, 1});
  const int m = 1'000'000;
  const LowerFewer lower_fewer = [&](std::int64_t fewer) {
    return lower({testing::input_of(kind.generate({2, 1, m - static_cast<int>(fewer)}))}, {});
  };
  const auto steady =
      steady_program(many_micro_batches(m, 2, 1, 0, 1), lower_fewer, prices, executor);
  REQUIRE(steady.has_value());
  CHECK(steady->summary().makespan == Duration{std::int64_t{m} * 3 + 2 + std::int64_t{m} * 4 + 3});
  CHECK(steady->replayed < 2000);
}

// A period of two ranks shows in 9 P + 6 = 24 micro-batches, and no sooner.
TEST_CASE("a period is looked for in no more micro-batches at once than are allowed") {
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  const StagePrices prices = testing::equal_prices(2, 1, {2, 1, 2, 1});
  int lowered = 0;
  const LowerFewer lower_fewer = [&](std::int64_t fewer) {
    ++lowered;
    const int left = 1'000'000 - static_cast<int>(fewer);
    return lower({testing::input_of(find_schedule("1f1b")->generate({2, 1, left}))}, {});
  };
  ManyMicroBatches many = many_micro_batches(1'000'000, 2, 1, 0, 1);
  many.most_at_once = 23;
  CHECK_FALSE(steady_program(many, lower_fewer, prices, executor).has_value());
  CHECK(lowered == 0);
  many.most_at_once = 24;
  CHECK(steady_program(many, lower_fewer, prices, executor).has_value());
}

}  // namespace
}  // namespace penstock
