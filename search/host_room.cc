#include "search/host_room.h"

#include <algorithm>
#include <string>

#include "costmodel/host_updates.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

std::optional<Rejection> over_host_memory(const PlanInputs& inputs, const Plan& plan,
                                          const StagePrices& prices) {
  if (!plan.offload_optimizer) return std::nullopt;
  Bytes over;
  for (const std::string& device : plan.device_types()) {
    const auto host = host_of(*inputs.cluster, device);
    if (!host) continue;  // why_no_offload() has said so
    const Bytes taken = taken_on_host(prices, plan, *inputs.cluster, device);
    over = std::max(over, taken - host->memory);
  }
  if (over.count <= 0) return std::nullopt;
  return Rejection{kOverHost, 1, over, over, ""};
}

std::string why_no_offload(const PlanInputs& inputs, const Plan& plan) {
  if (!plan.offload_optimizer) return "";
  for (const std::string& device : plan.device_types()) {
    if (host_of(*inputs.cluster, device)) continue;
    return "nothing is known of the host of a node with " + device +
           ", where the optimizer's state is to lie; add \"host\" to its node type in the cluster "
           "file";
  }
  const ScheduleKind* kind = find_schedule(plan.schedule);
  if (kind != nullptr && kind->rule != RunTimeRule::kNone) {
    return plan.schedule +
           " changes its order while it runs, and copies to the host wait in the order of the "
           "lists";
  }
  if (inputs.executor.optimizer != OptimizerGate::kRolledBack) return "";
  return "the host cannot take an update back: the optimizer's state stays on the devices under "
         "--optimizer rolled-back";
}

}  // namespace penstock
