// Copies between GPUs and their hosts: one after the other per GPU and direction; GPUs behind one
// link share its bandwidth equally while they copy. Private to multi/.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "multi/earliest.h"
#include "multi/unit_task.h"

namespace penstock {

struct HostCopy {
  bool load = true;  // else a store
  int gpu = 0, slot = 0;
  int task = 0, shard = 0;
  Duration work{};  // with the whole link to itself
};

class HostLanes {
 public:
  HostLanes(int gpus, const HostLinks& links);

  // Behind what the GPU copies already in that direction (or, where the link is simplex, at all).
  void add(const HostCopy& copy);
  // Begins what is first in its lane and, by `may_begin(copy)`, need not wait. A copy of no work
  // ends at once. Returns those that ended.
  template <class MayBegin>
  std::vector<HostCopy> begin(Duration now, const MayBegin& may_begin);

  // When the next copy ends; nothing while none runs.
  [[nodiscard]] std::optional<Duration> next_end() const { return next_ends_.time(); }
  // Those that end at `now`, which next_end() said, by GPU.
  std::vector<HostCopy> end_at(Duration now);

 private:
  struct Lane {
    std::deque<HostCopy> waiting;  // the first runs, where `runs`
    bool runs = false;
    std::int64_t left = 0;  // of its work, in parts of a nanosecond
  };
  struct Link {
    Duration since{};  // until then `left` of its lanes is up to date
    int running = 0;
  };
  // The lanes of a link, [first, end).
  struct Range {
    std::size_t first = 0, end = 0;
  };
  [[nodiscard]] std::size_t link_of(std::size_t lane) const;
  [[nodiscard]] Range lanes_of(std::size_t link) const;
  // Takes what was copied until now off `left`.
  void advance(std::size_t link, Duration now);
  void find_next_end(std::size_t link);
  void add_head(std::size_t lane);

  int gpus_, directions_, gpus_per_link_, links_;
  std::vector<Lane> lanes_;         // [direction * gpus + gpu]
  std::vector<std::size_t> heads_;  // lanes that wait and do not run, ascending
  std::vector<Link> link_;          // [direction * links + link]
  Earliest next_ends_;              // of links where a copy runs
};

// Parts of a nanosecond: 840 is a multiple of 1 to 8, so that up to eight GPUs share exactly. With
// more of them a copy ends less than a nanosecond late whenever their number changes.
inline constexpr std::int64_t kPartsOfNs = 840;

template <class MayBegin>
std::vector<HostCopy> HostLanes::begin(Duration now, const MayBegin& may_begin) {
  std::vector<HostCopy> ended;
  std::size_t kept = 0;
  for (const std::size_t i : heads_) {
    Lane& lane = lanes_[i];
    while (!lane.waiting.empty() && may_begin(lane.waiting.front())) {
      if (lane.waiting.front().work == Duration{}) {
        ended.push_back(lane.waiting.front());
        lane.waiting.pop_front();
        continue;
      }
      const std::size_t link = link_of(i);
      advance(link, now);
      lane.runs = true;
      lane.left = lane.waiting.front().work.count() * kPartsOfNs;
      ++link_[link].running;
      find_next_end(link);
      break;
    }
    if (!lane.runs && !lane.waiting.empty()) heads_[kept++] = i;
  }
  heads_.resize(kept);
  return ended;
}

}  // namespace penstock
