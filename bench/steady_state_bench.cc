// Generating and replaying a schedule with the jump over its steady state: the hot path of a
// search. `uneven`: 0 equal stages, 1 every stage its own times. Counters: `steps`, the compute
// actions that were replayed one by one; `actions`, those of the lowered Program that the answer
// stands for, transfers included; and these per second.
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

#include "simulator/schedules/schedules.h"
#include "simulator/simulate_schedule.h"
#include "simulator/steady_program.h"

namespace penstock {
namespace {

StagePrices prices_of(int stages, bool uneven, std::int64_t transfer) {
  StagePrices prices;
  prices.stages = stages;
  for (int s = 0; s < stages; ++s) {
    const auto more = [&](std::int64_t base, int factor) {
      return Price{Duration{base + (uneven ? (s * factor) % 97 * 1013 : 0)}, {}};
    };
    ComputePrice compute;
    compute.forward = more(1'000'000, 31);
    compute.input_gradient = more(1'000'000, 17);
    compute.weight_gradient = more(1'000'000, 7);
    compute.fused_backward.duration =
        compute.input_gradient.duration + compute.weight_gradient.duration;
    prices.compute.push_back(compute);
    prices.transfer.push_back({{Duration{transfer}, {}}, {Duration{transfer}, {}}});
  }
  prices.step.resize(static_cast<std::size_t>(stages));
  return prices;
}

// Compute, and a send and a receive per micro-batch, direction and boundary between ranks.
double actions_of(const Schedule& schedule) {
  double crossings = 0;
  for (int s = 0; s + 1 < schedule.stages(); ++s) {
    const auto stage = static_cast<std::size_t>(s);
    if (!schedule.has_next(s)) continue;
    if (schedule.rank_of_stage[stage] != schedule.rank_of_stage[stage + 1]) ++crossings;
  }
  return static_cast<double>(schedule.length()) + 4 * crossings * schedule.micro_batches_per_copy();
}

void build_and_jump(benchmark::State& state, const std::string& name,
                    const ExecutorModel& executor = {}) {
  const ScheduleKind& kind = *find_schedule(name);
  ScheduleShape shape;
  shape.ranks = static_cast<int>(state.range(0));
  shape.micro_batches = static_cast<int>(state.range(1));
  shape.chunks = kind.most_chunks == 0 ? 2 : kind.fewest_chunks;
  const StagePrices prices =
      prices_of(shape.ranks * shape.chunks, state.range(2) == 1, state.range(3) * 1000);
  ReplayBuffers buffers;
  ReplayWork work;
  for (auto _ : state) {
    const Schedule schedule = kind.generate(shape);
    const CountedSimulation simulation = simulate_schedule_counted(
        {{&schedule, {{schedule.micro_batches, {}}}, 1}}, {}, prices, executor, buffers);
    benchmark::DoNotOptimize(simulation.summary);
    work = simulation.work;
  }
  const double actions = actions_of(kind.generate(shape));
  state.counters["steps"] = static_cast<double>(work.steps);
  state.counters["actions"] = actions;
  state.counters["actions/s"] =
      benchmark::Counter(actions, benchmark::Counter::kIsIterationInvariantRate);
}

// Executors that the rolled-up replay does not know: the general engine, from Programs of few
// micro-batches. `replayed`: the actions that it replayed until it knew all `actions`.
void few_for_many(benchmark::State& state, const std::string& name, ExecutorModel executor) {
  const ScheduleKind& kind = *find_schedule(name);
  ScheduleShape shape;
  shape.ranks = static_cast<int>(state.range(0));
  shape.micro_batches = static_cast<int>(state.range(1));
  const StagePrices prices = prices_of(shape.ranks, state.range(2) == 1, state.range(3) * 1000);
  LoweringOptions options;
  options.issue = executor.issue;
  const LowerFewer lower_fewer = [&](std::int64_t fewer) {
    ScheduleShape smaller = shape;
    smaller.micro_batches -= static_cast<int>(fewer);
    PipelineInput input;
    input.schedule = kind.generate(smaller);
    input.micro_batches.resize(static_cast<std::size_t>(smaller.micro_batches));
    return lower({input}, options);
  };
  const auto many = many_micro_batches(shape.micro_batches, shape.ranks, 1, 0, 1);
  std::optional<SteadyProgram> steady;
  for (auto _ : state) {
    steady = steady_program(many, lower_fewer, prices, executor);
    benchmark::DoNotOptimize(steady);
  }
  if (!steady) return state.SkipWithError("no period");
  state.counters["replayed"] = static_cast<double>(steady->replayed);
  state.counters["actions"] = static_cast<double>(steady->actions());
}

ExecutorModel meeting(IssueOrder issue) {
  ExecutorModel executor;
  executor.transfer = TransferMode::kRendezvous;
  executor.issue = issue;
  return executor;
}

// Senders that block, by the rolled-up replay.
void build_and_jump_blocking(benchmark::State& state, const std::string& name) {
  ExecutorModel executor;
  executor.transfer = TransferMode::kSenderBlocks;
  build_and_jump(state, name, executor);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"P", "M", "uneven", "transfer_us"});
  for (const int m : {256, 2048, 131'072}) {
    for (const int uneven : {0, 1}) {
      for (const int transfer : {0, 100}) bench->Args({64, m, uneven, transfer});
    }
  }
  bench->Unit(benchmark::kMicrosecond);
}

void few_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"P", "M", "uneven", "transfer_us"});
  for (const int m : {2048, 131'072}) {
    for (const int uneven : {0, 1}) bench->Args({16, m, uneven, 100});
  }
  bench->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(build_and_jump, 1f1b, std::string("1f1b"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, gpipe, std::string("gpipe"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, zb_h1, std::string("zb-h1"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, zb_v, std::string("zb-v"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, interleaved, std::string("interleaved"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, looped_bfs, std::string("looped-bfs"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump_blocking, 1f1b, std::string("1f1b"))->Apply(sizes);
BENCHMARK_CAPTURE(few_for_many, 1f1b_rendezvous, std::string("1f1b"), meeting(IssueOrder::kEager))
    ->Apply(few_sizes);
BENCHMARK_CAPTURE(few_for_many, 1f1b_deepspeed, std::string("1f1b"),
                  meeting(IssueOrder::kDeepSpeed))
    ->Apply(few_sizes);
BENCHMARK_CAPTURE(few_for_many, gpipe_rendezvous, std::string("gpipe"), meeting(IssueOrder::kEager))
    ->Apply(few_sizes);

}  // namespace
}  // namespace penstock
