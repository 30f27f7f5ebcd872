// The automatic zero-bubble schedules: called for every candidate of a search that names them.
#include "simulator/schedules/zb_auto.h"

#include <benchmark/benchmark.h>

#include "simulator/schedules/zb_v_auto.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

// Stages that differ by a few percent, as sections of a model do. `limit` is in activations.
StageCosts costs_of(int ranks, int chunks, std::int64_t limit) {
  StageCosts costs;
  const int stages = ranks * chunks;
  for (int s = 0; s < stages; ++s) {
    const auto percent = [&](int step) { return 95 + s * step % 11; };
    costs.forward.push_back(185us * percent(3));
    costs.input_gradient.push_back(180us * percent(5));
    costs.weight_gradient.push_back(93us * percent(7));
    if (s + 1 < stages) costs.activation.push_back(600us);
    costs.taken_by_forward.push_back(201'216);
    costs.freed_by_input_gradient.push_back(127'488);
    costs.freed_by_weight_gradient.push_back(73'728);
  }
  costs.gradient = costs.activation;
  costs.limit.assign(static_cast<std::size_t>(ranks), limit * 201'216);
  return costs;
}

void count(benchmark::State& state, const AutomaticLists& found, int stages) {
  const auto actions = static_cast<double>(3 * stages * state.range(1));
  state.counters["actions"] = actions;
  state.counters["actions/s"] =
      benchmark::Counter(actions, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["span_ms"] = static_cast<double>(found.span.count()) / 1e6;
}

// The limit in quarters of P activations: 3 is below the depth of the pipeline, 4 is ZB-1p, 8
// ZB-2p.
void automatic(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const auto micro_batches = static_cast<int>(state.range(1));
  const StageCosts costs = costs_of(ranks, 1, ranks * state.range(2) / 4);
  for (auto _ : state) benchmark::DoNotOptimize(zb_auto(costs, micro_batches));
  count(state, zb_auto(costs, micro_batches), ranks);
}
BENCHMARK(automatic)
    ->ArgNames({"P", "M", "quarters"})
    ->ArgsProduct({{8, 32}, {64, 256}, {3, 4, 6, 8, 40}})
    ->Unit(benchmark::kMillisecond);

void published(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const auto micro_batches = static_cast<int>(state.range(1));
  const StageCosts costs = costs_of(ranks, 1, ranks * state.range(2) / 4);
  for (auto _ : state) benchmark::DoNotOptimize(zb_published(costs, micro_batches));
  count(state, zb_published(costs, micro_batches), ranks);
}
BENCHMARK(published)
    ->ArgNames({"P", "M", "quarters"})
    ->ArgsProduct({{32}, {256}, {4, 8}})
    ->Unit(benchmark::kMillisecond);

// Two chunks per rank; the limit is 2 P activations of a chunk.
void automatic_v(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const auto micro_batches = static_cast<int>(state.range(1));
  const StageCosts costs = costs_of(ranks, 2, 2 * ranks);
  for (auto _ : state) benchmark::DoNotOptimize(zb_v_auto(costs, micro_batches));
  count(state, zb_v_auto(costs, micro_batches), 2 * ranks);
}
BENCHMARK(automatic_v)
    ->ArgNames({"P", "M"})
    ->ArgsProduct({{8, 32}, {64, 256}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
