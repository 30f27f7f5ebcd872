// 100 tasks of 1,000 units on 64 GPUs: one replay of Sharded-LRTF, and the whole answer with all
// ways to share the GPUs. Units of 50 shards there and back, loads 30 % of compute.
#include <random>

#include <benchmark/benchmark.h>

#include "multi/replay_units.h"
#include "multi/schedule_models.h"

namespace penstock {
namespace {

constexpr int kTasks = 100, kShards = 50, kSteps = 10, kGpus = 64;  // 99 units a step

std::vector<UnitTask> tasks(bool loads) {
  std::mt19937 random(1);
  std::vector<UnitTask> all;
  for (int t = 0; t < kTasks; ++t) {
    const Duration forward = std::chrono::microseconds(100'000 + random() % 400'000);
    const Duration load = loads ? forward * 3 / 10 : Duration{};
    const std::vector<ShardTimes> shards(kShards, {forward, 2 * forward, load, load});
    all.push_back({"t" + std::to_string(t), units_of_shards(shards), kSteps});
  }
  return all;
}

void replay_longest_remaining(benchmark::State& state) {
  const std::vector<UnitTask> all = tasks(state.range(0) != 0);
  const UnitRules rules{NextTask::kLongestRemaining, {}, false};
  for (auto _ : state) benchmark::DoNotOptimize(replay_units(all, kGpus, {2, true}, rules));
  state.SetItemsProcessed(state.iterations() * kTasks * kSteps * (2 * kShards - 1));
}

void schedule_all_ways(benchmark::State& state) {
  MultiQuestion question;
  for (const UnitTask& task : tasks(state.range(0) != 0)) {
    question.models.push_back({task.name, {}, task, {}});
  }
  question.nodes.assign(8, 8);
  question.links = {2, true};
  for (auto _ : state) benchmark::DoNotOptimize(schedule_models(question));
}

BENCHMARK(replay_longest_remaining)
    ->ArgName("loads")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(schedule_all_ways)->ArgName("loads")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
