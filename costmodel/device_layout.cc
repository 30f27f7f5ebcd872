// The layout of a level is a list of runs of domains of one size, not an entry per device, since
// clusters have up to millions of them: a device is found among few runs. Invariant: every domain
// of a level lies inside one domain of the level above, and domains are numbered in the order of
// their devices.
#include "costmodel/device_layout.h"

#include <algorithm>

namespace penstock {
namespace {

bool has_links_of_types(const ClusterSpec& cluster) {
  return std::any_of(cluster.levels.begin(), cluster.levels.end(),
                     [](const LinkLevel& level) { return !level.of_types.empty(); }) ||
         std::any_of(cluster.collectives.begin(), cluster.collectives.end(),
                     [](const CollectiveCurve& curve) { return curve.device_type >= 0; });
}

}  // namespace

DeviceLayout::DeviceLayout(const ClusterSpec& cluster)
    : devices_(device_count(cluster)), types_differ_(has_links_of_types(cluster)) {
  std::vector<Units> units;  // nodes, later the domains of the level below
  units.reserve(cluster.nodes.size());
  int largest = 0, first = 0;
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& type = penstock::type_of(cluster, group);
    units.push_back({group.count, type.devices});
    nodes_.push_back({first, type.device_type});
    first += group.count * type.devices;
    largest = std::max(largest, units.back().size);
  }
  levels_.reserve(cluster.levels.size());
  for (const LinkLevel& link : cluster.levels) {
    Level& level = levels_.emplace_back();
    if (link.devices == 0) continue;
    level.within_nodes = link.devices <= largest;
    if (!level.within_nodes) units = packed(units, link.devices);
    level.runs = divided(units, link.devices);
  }
}

// Every unit into domains of at most so many devices.
std::vector<DeviceLayout::Run> DeviceLayout::divided(const std::vector<Units>& units, int devices) {
  std::vector<Run> runs;
  runs.reserve(units.size());
  Run next;
  for (const Units& each : units) {
    const int step = std::min(each.size, devices);
    const bool even = each.size % step == 0;  // then nothing tells one unit from the next
    next.block = even ? step : each.size;
    next.step = step;
    const bool goes_on =
        !runs.empty() && runs.back().block == next.block && runs.back().step == next.step;
    if (!goes_on) runs.push_back(next);
    next.first_device += each.count * each.size;
    next.first_domain += each.count * ((each.size + step - 1) / step);
  }
  return runs;
}

std::vector<DeviceLayout::Units> DeviceLayout::packed(const std::vector<Units>& units,
                                                      int devices) {
  std::vector<Units> domains;
  domains.reserve(2 * units.size() + 1);
  const auto emit = [&](int count, int size) {
    if (count == 0 || size == 0) return;
    if (!domains.empty() && domains.back().size == size) {
      domains.back().count += count;
    } else {
      domains.push_back({count, size});
    }
  };
  int open = 0;  // devices of the domain that more may still join
  for (const Units& each : units) {
    const int joining = open == 0 ? 0 : std::min(each.count, (devices - open) / each.size);
    open += joining * each.size;
    int left = each.count - joining;
    if (left == 0) continue;
    emit(1, open);
    const int per_domain = std::max(1, devices / each.size);
    const int closed = (left - 1) / per_domain;
    emit(closed, per_domain * each.size);
    left -= closed * per_domain;
    open = left * each.size;
  }
  emit(1, open);
  return domains;
}

const DeviceLayout::Run& DeviceLayout::run_of(const Level& level, int device) {
  auto run = level.runs.end() - 1;
  while (run != level.runs.begin() && run->first_device > device) --run;
  return *run;
}

int DeviceLayout::domain(int level, int device) const {
  if (level < 0) return device;
  const Level& at = levels_[static_cast<std::size_t>(level)];
  if (at.runs.empty()) return 0;
  const Run& run = run_of(at, device);
  const int offset = device - run.first_device;
  if (run.block == run.step) return run.first_domain + offset / run.step;
  const int per_block = (run.block + run.step - 1) / run.step;
  return run.first_domain + offset / run.block * per_block + offset % run.block / run.step;
}

int DeviceLayout::domain_size(int level, int device) const {
  if (level < 0) return 1;
  const Level& at = levels_[static_cast<std::size_t>(level)];
  if (at.runs.empty()) return devices_;
  const Run& run = run_of(at, device);
  if (run.block == run.step) return run.step;
  const int in_block = (device - run.first_device) % run.block;
  return std::min(run.step, run.block - in_block / run.step * run.step);
}

int DeviceLayout::end_of_domain(int level, int device) const {
  if (level < 0) return device + 1;
  const Level& at = levels_[static_cast<std::size_t>(level)];
  if (at.runs.empty()) return devices_;
  const Run& run = run_of(at, device);
  const int in_block = (device - run.first_device) % run.block;
  return device - in_block + std::min((in_block / run.step + 1) * run.step, run.block);
}

int DeviceLayout::type_of(int device) const {
  auto nodes = nodes_.end() - 1;
  while (nodes != nodes_.begin() && nodes->first_device > device) --nodes;
  return nodes->type;
}

int DeviceLayout::level_between(int device, int other) const {
  int level = 0;
  while (level + 1 < static_cast<int>(levels_.size()) &&
         domain(level, device) != domain(level, other)) {
    ++level;
  }
  return level;
}

bool DeviceLayout::is_within_nodes(int level) const {
  return level < 0 || levels_[static_cast<std::size_t>(level)].within_nodes;
}

bool DeviceLayout::holds_groups_of(int count) const {
  return std::all_of(levels_.begin(), levels_.end(), [&](const Level& level) {
    return std::all_of(level.runs.begin(), level.runs.end(), [&](const Run& run) {
      return run.first_device % count == 0 && run.block % count == 0 && run.step % count == 0;
    });
  });
}

}  // namespace penstock
