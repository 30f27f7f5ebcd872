// Generating and replaying a schedule with the jump over its steady state: the hot path of a
// search. `uneven`: 0 equal stages, 1 every stage its own times. Counters: `steps`, the compute
// actions that were replayed one by one; `actions`, those of the lowered Program that the answer
// stands for, transfers included; and these per second.
#include <string>

#include <benchmark/benchmark.h>

#include "simulator/schedules/schedules.h"
#include "simulator/simulate_schedule.h"

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

void build_and_jump(benchmark::State& state, const std::string& name) {
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
        {{&schedule, {{schedule.micro_batches, {}}}, 1}}, {}, prices, {}, buffers);
    benchmark::DoNotOptimize(simulation.summary);
    work = simulation.work;
  }
  const double actions = actions_of(kind.generate(shape));
  state.counters["steps"] = static_cast<double>(work.steps);
  state.counters["actions"] = actions;
  state.counters["actions/s"] =
      benchmark::Counter(actions, benchmark::Counter::kIsIterationInvariantRate);
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

BENCHMARK_CAPTURE(build_and_jump, 1f1b, std::string("1f1b"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, gpipe, std::string("gpipe"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, zb_h1, std::string("zb-h1"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, zb_v, std::string("zb-v"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, interleaved, std::string("interleaved"))->Apply(sizes);
BENCHMARK_CAPTURE(build_and_jump, looped_bfs, std::string("looped-bfs"))->Apply(sizes);

}  // namespace
}  // namespace penstock
