// Varuna's run-time rule from nothing but P and M: lists, and the replay by rule on them; and for
// comparison the event queue on the Program. Stages F = R = 20 ms, B = 40 ms, transfers 3 ms within
// groups of four stages and 12 ms between them, as in docs/schedules.md.
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

StagePrices prices_of(int stages) {
  StagePrices prices;
  prices.stages = stages;
  ComputePrice compute;
  compute.forward.duration = compute.recompute.duration = 20ms;
  compute.fused_backward.duration = 40ms;
  const auto count = static_cast<std::size_t>(stages);
  prices.compute.assign(count, compute);
  prices.transfer.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    TransferPrice& transfer = prices.transfer[s];
    transfer.activation.duration = s / 4 == (s + 1) / 4 ? 3ms : 12ms;
    transfer.gradient.duration = transfer.activation.duration;
  }
  prices.step.resize(count);
  return prices;
}

ScheduleShape shape_of(const benchmark::State& state) {
  ScheduleShape shape;
  shape.ranks = static_cast<int>(state.range(0));
  shape.micro_batches = static_cast<int>(state.range(1));
  return shape;
}

void count(benchmark::State& state, Duration makespan) {
  const auto tasks = static_cast<double>((3 * state.range(0) - 1) * state.range(1));
  state.counters["makespan_ms"] = static_cast<double>(makespan / 1ms);
  state.counters["tasks/s"] =
      benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
}

void by_rule(benchmark::State& state) {
  const ScheduleShape shape = shape_of(state);
  const StagePrices prices = prices_of(shape.ranks);
  ReplayBuffers buffers;
  Duration makespan{};
  for (auto _ : state) {
    const Schedule schedule = make_schedule("varuna", shape);
    const RolledInput input{&schedule, {{shape.micro_batches, {}}}};
    makespan = simulate_by_rule({input}, {}, prices, {}, buffers).value().summary.makespan;
  }
  count(state, makespan);
}

void by_events(benchmark::State& state) {
  const ScheduleShape shape = shape_of(state);
  const StagePrices prices = prices_of(shape.ranks);
  Duration makespan{};
  for (auto _ : state) {
    PipelineInput input;
    input.schedule = make_schedule("varuna", shape);
    input.micro_batches.resize(static_cast<std::size_t>(shape.micro_batches));
    std::vector<PipelineInput> pipelines;
    pipelines.push_back(std::move(input));
    makespan = simulate_summary(lower(pipelines, {}), prices, {}).makespan;
  }
  count(state, makespan);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"P", "M"})->Unit(benchmark::kMicrosecond);
  bench->Args({8, 64})->Args({32, 512})->Args({32, 4096});
}
BENCHMARK(by_rule)->Apply(sizes);
BENCHMARK(by_events)->Apply(sizes);

}  // namespace
}  // namespace penstock
