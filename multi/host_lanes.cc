#include "multi/host_lanes.h"

#include <algorithm>

namespace penstock {

HostLanes::HostLanes(int gpus, const HostLinks& links)
    : gpus_(gpus),
      directions_(links.duplex ? 2 : 1),
      gpus_per_link_(links.gpus_per_link),
      links_((gpus + links.gpus_per_link - 1) / links.gpus_per_link),
      lanes_(static_cast<std::size_t>(gpus_ * directions_)),
      link_(static_cast<std::size_t>(links_ * directions_)),
      next_ends_(link_.size()) {}

std::size_t HostLanes::link_of(std::size_t lane) const {
  const auto gpus = static_cast<std::size_t>(gpus_);
  const std::size_t direction = lane / gpus, gpu = lane % gpus;
  return direction * static_cast<std::size_t>(links_) +
         gpu / static_cast<std::size_t>(gpus_per_link_);
}

HostLanes::Range HostLanes::lanes_of(std::size_t link) const {
  const int direction = static_cast<int>(link) / links_;
  const int first = static_cast<int>(link) % links_ * gpus_per_link_;
  const int end = std::min(first + gpus_per_link_, gpus_);
  return {static_cast<std::size_t>(direction * gpus_ + first),
          static_cast<std::size_t>(direction * gpus_ + end)};
}

void HostLanes::add(const HostCopy& copy) {
  const int direction = copy.load || directions_ == 1 ? 0 : 1;
  const int lane_of_copy = direction * gpus_ + copy.gpu;
  const auto lane = static_cast<std::size_t>(lane_of_copy);
  if (lanes_[lane].waiting.empty()) add_head(lane);
  lanes_[lane].waiting.push_back(copy);
}

void HostLanes::add_head(std::size_t lane) {
  heads_.insert(std::lower_bound(heads_.begin(), heads_.end(), lane), lane);
}

void HostLanes::advance(std::size_t link, Duration now) {
  Link& shared = link_[link];
  if (shared.running > 0) {
    const std::int64_t done = (now - shared.since).count() * kPartsOfNs / shared.running;
    const Range lanes = lanes_of(link);
    for (std::size_t i = lanes.first; i < lanes.end; ++i) {
      if (lanes_[i].runs) lanes_[i].left = std::max<std::int64_t>(0, lanes_[i].left - done);
    }
  }
  shared.since = now;
}

void HostLanes::find_next_end(std::size_t link) {
  const Link& shared = link_[link];
  if (shared.running == 0) return next_ends_.clear(link);
  std::optional<std::int64_t> least;
  const Range lanes = lanes_of(link);
  for (std::size_t i = lanes.first; i < lanes.end; ++i) {
    if (lanes_[i].runs) least = std::min(least.value_or(lanes_[i].left), lanes_[i].left);
  }
  const std::int64_t parts = least.value_or(0) * shared.running;
  next_ends_.set(link, shared.since + Duration{(parts + kPartsOfNs - 1) / kPartsOfNs});
}

std::vector<HostCopy> HostLanes::end_at(Duration now) {
  std::vector<HostCopy> ended;
  for (std::size_t from = 0; const auto found = next_ends_.first_until(now, from);) {
    const std::size_t link = *found;
    from = link + 1;
    advance(link, now);
    const Range lanes = lanes_of(link);
    for (std::size_t i = lanes.first; i < lanes.end; ++i) {
      Lane& lane = lanes_[i];
      if (!lane.runs || lane.left > 0) continue;
      ended.push_back(lane.waiting.front());
      lane.waiting.pop_front();
      lane.runs = false;
      if (!lane.waiting.empty()) add_head(i);
      --link_[link].running;
    }
    find_next_end(link);
  }
  return ended;
}

}  // namespace penstock
