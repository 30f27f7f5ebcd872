#include "search/contention.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "costmodel/network_of.h"
#include "search/device_cluster.h"
#include "search/evaluation.h"
#include "simulator/events/expand_replicas.h"
#include "simulator/events/simulate_by_events.h"

namespace penstock {
namespace {

void require_devices(const PlanFile& file, const ClusterSpec& cluster) {
  const PlanDevices devices = devices_of(cluster, file.plan, std::nullopt);
  if (const auto why = too_few_devices(devices, file.plan); !why.empty()) throw_bad_input(why);
}

// The prices of the file suppose that all replicas send at once; here they do or do not.
void price_transfers_alone(const ClusterSpec& cluster, const ExecutorModel& executor,
                           const Program& program, const Contention& contention,
                           ActionDurations& durations) {
  const Network& network = contention.network;
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Action& action = program.actions[i];
    if (!is_send(action.kind)) continue;
    const auto& routes =
        action.kind == ActionKind::kSendActivation ? network.activation : network.gradient;
    const Route& route = network.routes[routes[action.stage.value]];
    durations[i] =
        time_alone(cluster, route, contention.transfers[i]) + fixed_cost(executor, action.kind);
  }
}

std::vector<LinkDelay> largest_first(const Network& network, const std::vector<Duration>& delays) {
  std::vector<LinkDelay> full;
  full.reserve(delays.size());
  for (std::size_t l = 0; l < delays.size(); ++l) {
    if (delays[l] > Duration{}) full.push_back({network.links[l].name, delays[l]});
  }
  std::stable_sort(full.begin(), full.end(),
                   [](const LinkDelay& a, const LinkDelay& b) { return a.delay > b.delay; });
  return full;
}

}  // namespace

ContentionEffect contention_of(const PlanFile& file, const ClusterSpec& cluster) {
  require_devices(file, cluster);
  const Program program = expand_replicas(file.program);
  const Contention contention{network_of(cluster, file.plan, program),
                              transfer_bytes(program, file.prices)};
  ActionDurations durations = action_durations(program, file.prices, file.executor);
  price_transfers_alone(cluster, file.executor, program, contention, durations);
  const auto step_time = [&](EventSimulation& simulation) {
    return step_time_of(summarize(program, simulation.run(durations)), file.executor);
  };
  ContentionEffect effect;
  EventSimulation alone(program, file.executor), shared(program, file.executor, &contention);
  effect.step_time_alone = step_time(alone);
  effect.step_time = step_time(shared);
  effect.delays = largest_first(contention.network, shared.delays_of_links());
  return effect;
}

}  // namespace penstock
