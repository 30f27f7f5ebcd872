#include "costmodel/device_places.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace penstock {

DevicePlaces::DevicePlaces(const ClusterSpec& cluster, const Plan& plan)
    : cluster_(cluster), plan_(plan), layout_(cluster) {
  const std::vector<std::string> names = plan.device_types();
  types_.reserve(names.size());
  for (const std::string& name : names) {
    types_.push_back({name, 0, {}});
    find_stretches(types_.back());
  }
  ranks_.reserve(static_cast<std::size_t>(plan.pipeline));
  for (int rank = 0; rank < plan.pipeline; ++rank) {
    std::size_t type = 0;
    while (types_[type].name != plan.device_of_rank(rank)) ++type;
    ranks_.push_back({static_cast<int>(type), types_[type].ranks++});
  }
}

void DevicePlaces::find_stretches(OfType& type) const {
  int device = 0, of_type = 0;
  bool goes_on = false;
  for (const NodeGroup& group : cluster_.nodes) {
    const NodeType& node = type_of(cluster_, group);
    const bool mine =
        cluster_.device_types[static_cast<std::size_t>(node.device_type)].name == type.name;
    if (mine && !goes_on) type.stretches.push_back({of_type, device});
    if (mine) of_type += group.count * node.devices;
    device += group.count * node.devices;
    goes_on = mine;
  }
  if (!type.stretches.empty()) return;
  throw_bad_input("cluster '" + cluster_.name + "' has no device type '" + type.name + "'");
}

int DevicePlaces::device(const OfType& type, int index) {
  auto stretch = type.stretches.end() - 1;
  while (stretch->first_of_type > index) --stretch;
  return stretch->first_device + index - stretch->first_of_type;
}

int DevicePlaces::device_of(int rank, int replica, int tensor_rank) const {
  const OfRank& place = ranks_[static_cast<std::size_t>(rank)];
  const OfType& type = types_[static_cast<std::size_t>(place.type)];
  const int block = plan_.placement == Placement::kPipelineInner
                        ? replica * type.ranks + place.position
                        : place.position * plan_.data + replica;
  return device(type, block * plan_.tensor + tensor_rank);
}

std::vector<int> DevicePlaces::all_devices() const {
  std::vector<int> devices;
  devices.reserve(static_cast<std::size_t>(plan_.devices()));
  for (const OfType& type : types_) {
    const int count = type.ranks * plan_.data * plan_.tensor;
    for (int index = 0; index < count; ++index) devices.push_back(device(type, index));
  }
  if (types_.size() > 1) std::sort(devices.begin(), devices.end());
  return devices;
}

std::vector<int> DevicePlaces::distinct_tensor_ranks() const {
  const int tensor = plan_.tensor;
  const bool whole_groups =
      layout_.holds_groups_of(tensor) &&
      std::all_of(types_.begin(), types_.end(), [&](const OfType& type) {
        return std::all_of(type.stretches.begin(), type.stretches.end(), [&](const Stretch& each) {
          return each.first_of_type % tensor == 0 && each.first_device % tensor == 0;
        });
      });
  std::vector<int> ranks(whole_groups ? 1 : static_cast<std::size_t>(tensor));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

int DevicePlaces::devices_beside(const std::vector<int>& ranks, int level) const {
  if (types_.size() == 1 || !layout_.is_within_nodes(level)) return plan_.devices();
  std::vector<bool> counted(types_.size());
  int devices = 0;
  for (const int rank : ranks) {
    const auto type = static_cast<std::size_t>(ranks_[static_cast<std::size_t>(rank)].type);
    if (!counted[type]) devices += types_[type].ranks * plan_.data * plan_.tensor;
    counted[type] = true;
  }
  return devices;
}

}  // namespace penstock
