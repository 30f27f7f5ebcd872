// Building and replaying one pipeline: the hot path of every search.
#include <benchmark/benchmark.h>

#include "simulator/lower.h"
#include "simulator/replay_lanes.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

StagePrices equal_prices(int stages) {
  StagePrices prices;
  prices.stages = stages;
  ComputePrice compute;
  compute.forward.duration = 1ms;
  compute.input_gradient.duration = 1ms;
  compute.weight_gradient.duration = 1ms;
  compute.fused_backward.duration = 2ms;
  prices.compute.assign(static_cast<std::size_t>(stages), compute);
  TransferPrice transfer;
  transfer.activation.duration = transfer.gradient.duration = 100us;
  prices.transfer.assign(static_cast<std::size_t>(stages), transfer);
  prices.step.resize(static_cast<std::size_t>(stages));
  return prices;
}

Program build(const benchmark::State& state) {
  ScheduleShape shape;
  shape.ranks = static_cast<int>(state.range(0));
  shape.micro_batches = static_cast<int>(state.range(1));
  PipelineInput input;
  input.schedule = make_schedule("1f1b", shape);
  input.micro_batches.resize(static_cast<std::size_t>(shape.micro_batches));
  return lower({input}, {});
}

void count_actions(benchmark::State& state, const Program& program) {
  state.counters["actions"] = static_cast<double>(program.actions.size());
  state.counters["actions/s"] = benchmark::Counter(static_cast<double>(program.actions.size()),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

void build_program(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(build(state));
  count_actions(state, build(state));
}

void replay_program(benchmark::State& state) {
  const Program program = build(state);
  const StagePrices prices = equal_prices(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(program, prices, {}));
  count_actions(state, program);
}

void replay_program_summary(benchmark::State& state) {
  const Program program = build(state);
  const StagePrices prices = equal_prices(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(simulate_summary(program, prices, {}));
  count_actions(state, program);
}

// Lanes whose forwards differ. replay_separately / replay_in_lanes is what lanes gain each: on a
// Xeon at 2.6 GHz twice with 8 lanes, and some 6.5 times from 40 lanes on, when reading the Program
// no longer counts.
std::vector<StagePrices> different_prices(const benchmark::State& state) {
  std::vector<StagePrices> lanes(static_cast<std::size_t>(state.range(2)),
                                 equal_prices(static_cast<int>(state.range(0))));
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    lanes[k].compute[k % lanes[k].compute.size()].forward.duration += 1us;
  }
  return lanes;
}

void count_actions_of_lanes(benchmark::State& state, const Program& program) {
  const auto lanes = static_cast<double>(state.range(2));
  state.counters["actions*lanes/s"] =
      benchmark::Counter(static_cast<double>(program.actions.size()) * lanes,
                         benchmark::Counter::kIsIterationInvariantRate);
}

void replay_in_lanes(benchmark::State& state) {
  const Program program = build(state);
  const std::vector<StagePrices> prices = different_prices(state);
  for (auto _ : state) benchmark::DoNotOptimize(replay_lanes(program, prices, {}));
  count_actions_of_lanes(state, program);
}

void replay_separately(benchmark::State& state) {
  const Program program = build(state);
  const std::vector<StagePrices> prices = different_prices(state);
  for (auto _ : state) {
    for (const StagePrices& lane : prices) {
      benchmark::DoNotOptimize(simulate_summary(program, lane, {}));
    }
  }
  count_actions_of_lanes(state, program);
}

void replay_with_jitter(benchmark::State& state) {
  const Program program = build(state);
  StagePrices prices = equal_prices(static_cast<int>(state.range(0)));
  for (ComputePrice& compute : prices.compute) {
    compute.forward.spread = compute.fused_backward.spread = 20us;
  }
  const JitteredLanes lanes{1, 0, static_cast<std::size_t>(state.range(2))};
  for (auto _ : state) benchmark::DoNotOptimize(replay_jittered(program, prices, lanes, {}));
  count_actions_of_lanes(state, program);
}

void build_and_replay_program(benchmark::State& state) {
  const StagePrices prices = equal_prices(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(build(state), prices, {}));
  count_actions(state, build(state));
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"P", "M"})->Args({8, 64})->Args({64, 2048})->Unit(benchmark::kMillisecond);
}
BENCHMARK(build_program)->Apply(sizes);
BENCHMARK(replay_program)->Apply(sizes);
BENCHMARK(replay_program_summary)->Apply(sizes);
BENCHMARK(build_and_replay_program)->Apply(sizes);

void sizes_of_lanes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"P", "M", "lanes"})->Unit(benchmark::kMillisecond);
  bench->Args({8, 64, 8})->Args({8, 64, 200})->Args({64, 2048, 8})->Args({64, 2048, 40});
}
BENCHMARK(replay_separately)->Apply(sizes_of_lanes);
BENCHMARK(replay_in_lanes)->Apply(sizes_of_lanes);
BENCHMARK(replay_with_jitter)->Apply(sizes_of_lanes);

}  // namespace
}  // namespace penstock
