// A month of spot capacity of up to 1,000 GPUs, replayed: machines of one GPU, a change a minute on
// average, and one plan for every number of GPUs.
#include <random>

#include <benchmark/benchmark.h>

#include "morphing/goodput.h"

namespace penstock {
namespace {

constexpr int kMostGpus = 1000;

Availability month(int changes) {
  std::mt19937 random(1);
  Availability recording;
  std::vector<int> there;
  const Duration length = std::chrono::hours(24 * 30);
  for (int i = 0; i < changes; ++i) {
    AvailabilityChange change;
    change.at = length / changes * i;
    const bool loses = !there.empty() && (there.size() == kMostGpus || random() % 2 == 0);
    if (loses) {
      const std::size_t which = random() % there.size();
      change.lost.push_back(there[which]);
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      do {
        change.added.push_back(static_cast<int>(recording.machines.size()));
        there.push_back(static_cast<int>(recording.machines.size()));
        recording.machines.push_back({"m", 1});
      } while (i == 0 && there.size() < kMostGpus / 2);
    }
    change.gpus = static_cast<int>(there.size());
    recording.changes.push_back(std::move(change));
  }
  recording.end = length;
  return recording;
}

std::vector<Rung> rungs() {
  std::vector<Rung> all;
  for (int gpus = 8; gpus <= kMostGpus; ++gpus)
    all.push_back({gpus, Duration{8'000'000'000'000 / gpus}});
  return useful_rungs(all);
}

const ChangeCosts kCosts{
    std::chrono::seconds(10), std::chrono::seconds(40), std::chrono::seconds(600), {}};

void replay_month(benchmark::State& state) {
  const Availability recording = month(static_cast<int>(state.range(0)));
  const std::vector<Rung> all = rungs();
  for (auto _ : state) {
    const auto policy = expected_gain_policy(recording, all, kCosts);
    benchmark::DoNotOptimize(replay_availability(recording, all, kCosts, *policy));
  }
}

void hindsight_of_month(benchmark::State& state) {
  const Availability recording = month(static_cast<int>(state.range(0)));
  const std::vector<Rung> all = rungs();
  for (auto _ : state) benchmark::DoNotOptimize(most_steps(recording, all, kCosts));
}

BENCHMARK(replay_month)->ArgName("changes")->Arg(1000)->Arg(43'200)->Unit(benchmark::kMillisecond);
BENCHMARK(hindsight_of_month)
    ->ArgName("changes")
    ->Arg(1000)
    ->Arg(43'200)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
