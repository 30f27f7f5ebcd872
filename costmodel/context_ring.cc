// In a ring every rank hands its keys and values to the next one, and the slowest hop of all rings
// at work at once sets the pace: hops that leave a domain share what connects it. Of attention's
// own time as much hides the ring as passes meanwhile. Collectives are those of groups whose ranks
// lie `tensor_degree` apart; of ranks that gather, gradients may still go from one to the next.
#include "costmodel/context_ring.h"

#include <algorithm>
#include <map>

#include "core/values/plan.h"
#include "costmodel/device_places.h"
#include "costmodel/exchange.h"

namespace penstock {
namespace {

bool is_same(const Way& a, const Way& b) {
  return a.level == b.level && a.flows_out == b.flows_out && a.flows_in == b.flows_in;
}

struct Hop {
  int from = 0, to = 0, level = 0;
};

// Of all rings, in the order of their devices.
std::vector<Hop> hops_of(const DevicePlaces& places, const Plan& plan) {
  const int tensor = plan.tensor, inner = plan.devices_per_rank();
  std::vector<Hop> hops;
  for (int ring = 0; ring < plan.data; ++ring) {
    for (int i = 0; i < inner; ++i) {
      const int from = places.device_of(0, ring, i);
      const int to = places.device_of(0, ring, (i + tensor) % inner);
      hops.push_back({from, to, places.layout().level_between(from, to)});
    }
  }
  return hops;
}

}  // namespace

ContextRings::ContextRings(const ClusterSpec& cluster, const std::string& device, int tensor_degree,
                           const OtherDegrees& others)
    : cluster_(cluster),
      steps_(others.context - 1),
      kind_(others.context_kind),
      stride_(tensor_degree) {
  Plan plan;
  plan.device = device;
  plan.tensor = tensor_degree;
  plan.context = others.context;
  plan.data = devices_of_type(cluster, device) / plan.devices_per_rank();
  if (others.context < 2 || plan.data < 1) return;
  if (kind_ != ContextKind::kRing) {
    groups_ = groups_apart(cluster, device, others.context, tensor_degree);
    if (kind_ != ContextKind::kAllGather) return;
  }
  const DevicePlaces places(cluster, plan);
  const DeviceLayout& layout = places.layout();
  const std::vector<Hop> hops = hops_of(places, plan);
  std::map<std::pair<int, int>, int> out, in;  // flows by level and domain of the level below
  for (const Hop& hop : hops) {
    if (hop.level == 0) continue;
    ++out[{hop.level, layout.domain(hop.level - 1, hop.from)}];
    ++in[{hop.level, layout.domain(hop.level - 1, hop.to)}];
  }
  for (const Hop& hop : hops) {
    Way way{hop.level, layout.type_of(hop.from), layout.type_of(hop.to), 1, 1};
    if (hop.level > 0) {
      way.flows_out = out[{hop.level, layout.domain(hop.level - 1, hop.from)}];
      way.flows_in = in[{hop.level, layout.domain(hop.level - 1, hop.to)}];
    }
    const bool known = std::any_of(hops_.begin(), hops_.end(),
                                   [&](const Way& other) { return is_same(way, other); });
    if (!known) hops_.push_back(way);
  }
}

Duration ContextRings::step_time(Bytes bytes) const {
  Duration slowest{};
  for (const Way& hop : hops_) {
    slowest = std::max(slowest, point_to_point_time(cluster_, hop, bytes));
  }
  return slowest;
}

int ContextRings::level() const {
  int level = -1;
  for (const Way& hop : hops_) level = std::max(level, hop.level);
  for (const GroupShape& group : groups_) {
    level = std::max(level, static_cast<int>(group.levels.size()) - 1);
  }
  return level;
}

// `stride_` groups lie side by side and work at once.
Duration ContextRings::slowest(CollectiveKind kind, Bytes of_a_rank) const {
  Duration slowest{};
  for (const GroupShape& group : groups_) {
    slowest = std::max(slowest,
                       group_time(cluster_, kind, group, of_a_rank * group.participants, stride_));
  }
  return slowest;
}

Duration ContextRings::gather_time(Bytes of_a_rank) const {
  return slowest(CollectiveKind::kAllGather, of_a_rank);
}

Duration ContextRings::scatter_time(Bytes of_a_rank) const {
  return slowest(CollectiveKind::kReduceScatter, of_a_rank);
}

Duration ContextRings::exchanged_time(Bytes of_a_rank) const {
  Duration slowest{};
  for (const GroupShape& group : groups_) {
    slowest = std::max(slowest, exchange_time(cluster_, group, equal_parts(group, of_a_rank)));
  }
  return slowest;
}

Duration ContextRings::shown(Bytes bytes, Duration beside) const {
  return steps_ * std::max(step_time(bytes) - beside, Duration{});
}

}  // namespace penstock
