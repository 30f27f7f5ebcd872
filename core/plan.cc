#include "core/plan.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/error.h"
#include "core/evaluation.h"
#include "core/plan_file.h"

namespace penstock {

std::vector<int> Plan::stages_of_rank(int rank) const {
  if (stage_map != StageMap::kLoop) return {rank, 2 * pipeline - 1 - rank};
  std::vector<int> held;
  held.reserve(static_cast<std::size_t>(chunks));
  for (int stage = rank; stage < stages(); stage += pipeline) held.push_back(stage);
  return held;
}

std::vector<std::string> Plan::device_types() const {
  if (!is_mixed()) return {device};
  std::vector<std::string> types;
  for (const std::string& type : rank_devices) {
    if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return types;
}

void set_rank_devices(Plan& plan, std::vector<std::string> types) {
  plan.rank_devices = std::move(types);
  plan.device = plan.rank_devices.front();
  if (plan.device_types().size() == 1) plan.rank_devices.clear();
}

std::string device_words(const Plan& plan) {
  if (!plan.is_mixed()) return plan.device;
  std::string words;
  for (auto run = plan.rank_devices.begin(); run != plan.rank_devices.end();) {
    const auto end = std::find_if(run, plan.rank_devices.end(),
                                  [&](const std::string& type) { return type != *run; });
    words += (words.empty() ? "" : " + ") + std::to_string(end - run) + " " + *run;
    run = end;
  }
  return words;
}

int samples_of_replica(const Plan& plan, int index) {
  return plan.global_batch / plan.data + (index < plan.global_batch % plan.data ? 1 : 0);
}

std::vector<int> micro_batch_shapes(const Plan& plan) {
  std::vector<int> sizes;
  // Replicas differ by at most one sample: the first takes most, the last takes least.
  for (const int replica : {0, plan.data - 1}) {
    const int samples = samples_of_replica(plan, replica);
    if (samples >= plan.micro_batch_size) sizes.push_back(plan.micro_batch_size);
    if (samples % plan.micro_batch_size > 0) sizes.push_back(samples % plan.micro_batch_size);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

PlanDevice device_of_rank(const PlanFile& file, int rank) {
  const PlanCluster& cluster = file.cluster;
  const std::string& type = file.plan.device_of_rank(rank);
  for (const PlanDevice& other : cluster.other_devices) {
    if (file.plan.is_mixed() && other.name == type) return other;
  }
  if (file.plan.is_mixed() && type != file.plan.device) {
    throw Error(ErrorKind::kInternal, "this plan says nothing of device type '" + type + "'");
  }
  return {cluster.device, cluster.memory_per_device, cluster.reserve, cluster.usd_per_hour,
          cluster.devices_per_node};
}

Bytes Evaluation::peak_memory() const {
  Bytes peak;
  for (const RankEvaluation& rank : ranks) peak = std::max(peak, rank.memory.total());
  return peak;
}

}  // namespace penstock
