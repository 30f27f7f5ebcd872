// A state is (shard s, where it ends, its length, the length of the one before): all that the terms
// of the next shard depend on. Lengths are bounded by what fits, which keeps the tables small.
#include "spilling/best_shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace penstock {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class ShardTable {
 public:
  ShardTable(int sections, int shards, const FitsShard& fits, const TimeOfShard& time,
             std::int64_t most_work)
      : sections_(sections), shards_(shards), time_(time) {
    longest_ = 0;
    for (int first = 0; first < sections; ++first) {
      int end = first;
      while (end < sections && end - first < sections - shards + 1 && fits(first, end + 1)) ++end;
      reach_.push_back(end);
      longest_ = std::max(longest_, end - first);
    }
    shortest_ = 1;
    const int average = (sections + shards - 1) / shards;
    while (longest_ > average + 1 && work() > most_work) --longest_;
    if (work() > most_work) shortest_ = std::max(1, average / 2);
  }

  ShardCuts best() {
    if (shards_ == 1) {
      return reach_[0] == sections_ ? ShardCuts{0, sections_} : ShardCuts{};
    }
    const std::size_t states = static_cast<std::size_t>(sections_ + 1) * width() * width();
    std::vector<std::int64_t> cost(states, kNever);
    lengths_.assign(static_cast<std::size_t>(shards_), std::vector<int>(states, 0));
    begin(cost);
    for (int s = 1; s + 1 < shards_; ++s) cost = extended(cost, s);
    return ended(cost);
  }

 private:
  [[nodiscard]] std::int64_t work() const {
    return std::int64_t{sections_} * longest_ * longest_ * longest_;
  }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(longest_) + 1; }
  [[nodiscard]] std::size_t at(int end, int length, int before) const {
    return (static_cast<std::size_t>(end) * width() + static_cast<std::size_t>(length)) * width() +
           static_cast<std::size_t>(before);
  }
  [[nodiscard]] bool fits(int first, int end) const {
    return end <= reach_[static_cast<std::size_t>(first)] && end - first <= longest_ &&
           end - first >= shortest_;
  }
  [[nodiscard]] int last_end(int first) const {
    return std::min(reach_[static_cast<std::size_t>(first)], first + longest_);
  }

  // The first two shards: F(0) + B(0) + W(0).
  void begin(std::vector<std::int64_t>& cost) {
    for (int b = shortest_; b <= last_end(0) && b < sections_; ++b) {
      const ShardTime first = time_(0, b);
      const std::int64_t alone = (first.forward + first.back(false) + first.store).count();
      for (int c = b + shortest_; c <= last_end(b); ++c) cost[at(c, c - b, b)] = alone;
    }
  }

  // Shards s - 1 = [a, b), s = [b, c) and, added, s + 1 = [c, d).
  std::vector<std::int64_t> extended(const std::vector<std::int64_t>& cost, int s) {
    std::vector<std::int64_t> next(cost.size(), kNever);
    std::vector<int>& chosen = lengths_[static_cast<std::size_t>(s) + 1];
    for (int c = 1; c < sections_; ++c) {
      for (int length = shortest_; length <= std::min(longest_, c); ++length) {
        const int b = c - length;
        for (int before = shortest_; before <= std::min(longest_, b); ++before) {
          const std::int64_t so_far = cost[at(c, length, before)];
          if (so_far == kNever) continue;
          const ShardTime one_before = time_(b - before, b), own = time_(b, c);
          for (int d = c + shortest_; d <= last_end(c); ++d) {
            const ShardTime added = time_(c, d);
            const Duration there = std::max(own.forward, added.load);
            const Duration back = std::max(own.back(false), added.store + one_before.load);
            const std::int64_t sum = so_far + (there + back).count();
            std::int64_t& known = next[at(d, d - c, length)];
            if (sum >= known) continue;
            known = sum;
            chosen[at(d, d - c, length)] = before;
          }
        }
      }
    }
    return next;
  }

  ShardCuts ended(const std::vector<std::int64_t>& cost) const {
    std::int64_t least = kNever;
    int length = 0, before = 0;
    for (int l = shortest_; l <= std::min(longest_, sections_ - 1); ++l) {
      const ShardTime last = time_(sections_ - l, sections_);
      for (int k = shortest_; k <= std::min(longest_, sections_ - l); ++k) {
        const std::int64_t so_far = cost[at(sections_, l, k)];
        if (so_far == kNever) continue;
        const std::int64_t sum = so_far + (last.forward + last.back(true)).count();
        if (sum >= least) continue;
        least = sum;
        length = l;
        before = k;
      }
    }
    if (least == kNever) return {};
    ShardCuts cuts = {sections_};
    for (int s = shards_ - 1; s >= 1; --s) {
      const int end = cuts.back();
      cuts.push_back(end - length);
      const int two_before =
          s >= 2 ? lengths_[static_cast<std::size_t>(s)][at(end, length, before)] : 0;
      length = before;
      before = two_before;
    }
    cuts.push_back(0);
    std::reverse(cuts.begin(), cuts.end());
    return cuts;
  }

  int sections_, shards_, longest_ = 0, shortest_ = 1;
  const TimeOfShard& time_;
  std::vector<int> reach_;                 // by first section: where the longest that fits ends
  std::vector<std::vector<int>> lengths_;  // by shard and state: the length of the one two before
};

}  // namespace

Duration closed_form(const std::vector<ShardTime>& shards, bool reloads_updated) {
  const std::size_t count = shards.size();
  const ShardTime& first = shards[0];
  const Duration reload = reloads_updated ? first.load : Duration{};
  if (count == 1) return first.forward + first.backward + first.store + reload;
  Duration step = first.forward;
  if (reloads_updated) {
    const ShardTime& second = shards[1];
    const Duration stored = std::max(first.back(false), second.store) + first.store;
    step += std::max(stored, second.store + second.load) + reload;
  } else {
    step += first.back(false) + first.store;
  }
  for (std::size_t s = 1; s + 1 < count; ++s) {
    step += std::max(shards[s].forward, shards[s + 1].load);
    step += std::max(shards[s].back(false), shards[s + 1].store + shards[s - 1].load);
  }
  return step + shards[count - 1].forward + shards[count - 1].back(true);
}

ShardCuts best_shards(int sections, int shards, const FitsShard& fits, const TimeOfShard& time,
                      std::int64_t most_work) {
  if (shards < 1 || shards > sections) return {};
  return ShardTable(sections, shards, fits, time, most_work).best();
}

}  // namespace penstock
