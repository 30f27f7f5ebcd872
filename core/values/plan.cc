#include "core/values/plan.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/values/error.h"
#include "core/values/evaluation.h"
#include "core/values/plan_file.h"

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

namespace {

std::string words_of_ranks(const std::string* first, const std::string* end) {
  std::string words;
  for (const std::string* run = first; run != end;) {
    const std::string* next =
        std::find_if(run, end, [&](const std::string& type) { return type != *run; });
    words += (words.empty() ? "" : " + ") + std::to_string(next - run) + " " + *run;
    run = next;
  }
  return words;
}

// Of replicas that are alike and differ by at most one sample.
std::vector<int> even_shapes(const Plan& plan) {
  std::vector<int> sizes;
  // The first takes most, the last takes least.
  for (const int replica : {0, plan.data - 1}) {
    const int samples = samples_of_replica(plan, replica);
    if (samples >= plan.micro_batch_size) sizes.push_back(plan.micro_batch_size);
    if (samples % plan.micro_batch_size > 0) sizes.push_back(samples % plan.micro_batch_size);
  }
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

}  // namespace

std::string device_words(const Plan& plan) {
  if (!plan.is_mixed()) return plan.device;
  const std::string* ranks = plan.rank_devices.data();
  if (!plan.has_unequal_replicas()) return words_of_ranks(ranks, ranks + plan.pipeline);
  std::string words;
  for (const ReplicaKind& kind : plan.replica_kinds) {
    words += (words.empty() ? "" : ", ") + std::to_string(kind.replicas) + " x (" +
             words_of_ranks(ranks, ranks + plan.pipeline) + ")";
    ranks += plan.pipeline;
  }
  return words;
}

int samples_of_replica(const Plan& plan, int index) {
  if (plan.has_unequal_replicas()) {
    return plan.replica_kinds[static_cast<std::size_t>(kind_of_replica(plan, index))].samples;
  }
  return plan.global_batch / plan.data + (index < plan.global_batch % plan.data ? 1 : 0);
}

int kind_of_replica(const Plan& plan, int index) {
  int kind = 0;
  for (int end = 0; kind + 1 < plan.kinds(); ++kind) {
    end += plan.replica_kinds[static_cast<std::size_t>(kind)].replicas;
    if (index < end) break;
  }
  return kind;
}

Plan plan_of_kind(const Plan& plan, int kind) {
  Plan one = plan;
  if (!plan.has_unequal_replicas()) return one;
  const ReplicaKind& of_kind = plan.replica_kinds[static_cast<std::size_t>(kind)];
  one.replica_kinds.clear();
  one.data = of_kind.replicas;
  one.global_batch = of_kind.replicas * of_kind.samples;
  if (!plan.is_mixed()) return one;
  const auto first = plan.rank_devices.begin() + std::ptrdiff_t{kind} * plan.pipeline;
  set_rank_devices(one, {first, first + plan.pipeline});
  return one;
}

int replicas_of_rank(const Plan& plan, int rank) {
  if (!plan.has_unequal_replicas()) return plan.data;
  return plan.replica_kinds[static_cast<std::size_t>(rank / plan.pipeline)].replicas;
}

std::vector<int> micro_batch_shapes(const Plan& plan) {
  if (!plan.has_unequal_replicas()) return even_shapes(plan);
  std::vector<int> sizes;
  for (const ReplicaKind& kind : plan.replica_kinds) {
    const int b = plan.micro_batch_size;
    if (kind.samples >= b) sizes.push_back(b);
    if (kind.samples % b > 0) sizes.push_back(kind.samples % b);
  }
  return sizes;
}

ShapeRange shapes_of_kind(const Plan& plan, int kind) {
  if (!plan.has_unequal_replicas()) return {0, static_cast<int>(even_shapes(plan).size())};
  ShapeRange range;
  for (int k = 0; k <= kind; ++k) {
    const int samples = plan.replica_kinds[static_cast<std::size_t>(k)].samples;
    range.first = range.end;
    range.end += samples >= plan.micro_batch_size ? 1 : 0;
    range.end += samples % plan.micro_batch_size > 0 ? 1 : 0;
  }
  return range;
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
