// The event queue: a prepared simulation run again and again with other durations, as Monte Carlo
// does, with and without transfers that share links, and Varuna's rule.
#include <vector>

#include <benchmark/benchmark.h>

#include "costmodel/network_of.h"
#include "simulator/events/expand_replicas.h"
#include "simulator/events/simulate_by_events.h"
#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;

// Nodes of 8 devices, 300 GB/s inside; between nodes 25 GB/s per device and 100 GB/s per node.
ClusterSpec cluster_of(int devices) {
  ClusterSpec cluster;
  cluster.device_types.emplace_back();
  cluster.node_types = {{"node", 0, 8}};
  cluster.nodes = {{0, (devices + 7) / 8}};
  LinkLevel inside;
  inside.name = "nvlink";
  inside.devices = 8;
  inside.latency = 5us;
  inside.bandwidth = {300e9};
  LinkLevel between;
  between.name = "network";
  between.latency = 15us;
  between.bandwidth = {25e9};
  between.shared_bandwidth = {100e9};
  cluster.levels = {inside, between};
  return cluster;
}

struct Setup {
  Plan plan;
  Program program;
  StagePrices prices;
  ClusterSpec cluster;

  explicit Setup(const benchmark::State& state) {
    plan.pipeline = static_cast<int>(state.range(0));
    plan.data = static_cast<int>(state.range(2));
    plan.placement = Placement::kDataInner;
    ScheduleShape shape;
    shape.ranks = plan.pipeline;
    shape.micro_batches = static_cast<int>(state.range(1));
    PipelineInput input;
    input.schedule = make_schedule("1f1b", shape);
    input.micro_batches.resize(static_cast<std::size_t>(shape.micro_batches));
    input.replicas = plan.data;
    program = expand_replicas(lower({input}, {}));
    cluster = cluster_of(plan.devices());
    prices.stages = plan.pipeline;
    ComputePrice compute;
    compute.forward.duration = 1ms;
    compute.fused_backward.duration = 2ms;
    compute.boundary = Bytes{16 << 20};
    const auto stages = static_cast<std::size_t>(plan.pipeline);
    prices.compute.assign(stages, compute);
    prices.transfer.resize(stages);
    prices.step.resize(stages);
  }

  // Every action up to 10 % shorter or longer, differently in each of them; transfers alone.
  [[nodiscard]] ActionDurations durations(const Network& network, std::uint64_t seed) const {
    ActionDurations durations = action_durations(program, prices, {});
    for (std::size_t i = 0; i < durations.size(); ++i) {
      const Action& action = program.actions[i];
      if (is_send(action.kind)) {
        const auto& routes =
            action.kind == ActionKind::kSendActivation ? network.activation : network.gradient;
        durations[i] = time_alone(cluster, network.routes[routes[action.stage.value]],
                                  prices.compute[0].boundary);
      }
      const std::uint64_t hash = (i + seed * 977) * 0x9E37'79B9'7F4A'7C15U;
      durations[i] += durations[i] * (static_cast<std::int64_t>(hash >> 40U) % 201 - 100) / 1000;
    }
    return durations;
  }
};

void run(benchmark::State& state, bool with_contention) {
  const Setup setup(state);
  const Contention contention{network_of(setup.cluster, setup.plan, setup.program),
                              transfer_bytes(setup.program, setup.prices)};
  std::vector<ActionDurations> durations;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    durations.push_back(setup.durations(contention.network, seed));
  }
  EventSimulation simulation(setup.program, {}, with_contention ? &contention : nullptr);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(simulation.step_end(durations[next]));
    next = (next + 1) % durations.size();
  }
  state.counters["events"] = static_cast<double>(simulation.events());
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(simulation.events()),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void events_alone(benchmark::State& state) { run(state, false); }
void events_with_contention(benchmark::State& state) { run(state, true); }

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"P", "M", "D"})->Unit(benchmark::kMillisecond);
  bench->Args({8, 64, 1})->Args({32, 64, 1})->Args({32, 512, 1})->Args({32, 64, 8});
}
BENCHMARK(events_alone)->Apply(sizes);
BENCHMARK(events_with_contention)->Apply(sizes);

}  // namespace
}  // namespace penstock
