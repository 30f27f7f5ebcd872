// The pass over LaneOps for one group of lanes: what the straight replay does for one, for eight at
// a time, in plain arrays of fixed length.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/analyze.h"
#include "simulator/lane_ops.h"

namespace penstock {

inline constexpr std::size_t kLaneWidth = 8;
using Lanes = std::array<std::int64_t, kLaneWidth>;  // nanoseconds

// Without a comparison, which plain x86-64 has for no two integers of 64 bits at once: the shift
// makes a mask of the difference's sign. Times are at least 0, so the difference fits.
inline Lanes later(const Lanes& one, const Lanes& other) {
  Lanes result;
  for (std::size_t k = 0; k < kLaneWidth; ++k) {
    const std::int64_t ahead = other[k] - one[k];
    result[k] = one[k] + (ahead & ~(ahead >> 63U));
  }
  return result;
}

inline Lanes sum(const Lanes& one, const Lanes& other) {
  Lanes result;
  for (std::size_t k = 0; k < kLaneWidth; ++k) result[k] = one[k] + other[k];
  return result;
}

// Both members of an OVERLAP together.
inline Lanes overlapped(const Lanes& one, const Lanes& other, const Lanes& gain) {
  Lanes both;
  for (std::size_t k = 0; k < kLaneWidth; ++k) {
    both[k] = std::max({one[k], other[k], one[k] + other[k] - gain[k]});
  }
  return both;
}

class LanePass {
 public:
  explicit LanePass(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  // Stretch by stretch. `prices.of(i, op)` and `prices.of(j, overlap)` are the durations of op i
  // and of overlap j of the stretch, `prices.gain(overlap)` what it gains.
  template <class Prices>
  void run(const LaneOps& stretch, const Prices& prices) {
    slots_.resize(stretch.slots);
    auto second = stretch.overlaps.begin();
    auto member = stretch.members.begin();
    for (std::size_t i = 0; i < stretch.ops.size(); ++i) {
      const LaneOps::Op& op = stretch.ops[i];
      Lanes& end = slots_[op.ends_in];
      switch (op.kind) {
        case LaneOps::Kind::kSend:
          end = sum(slots_[op.waits_for], prices.of(i, op));
          break;
        case LaneOps::Kind::kCompute:
          end = compute(op, slots_[op.waits_for], prices.of(i, op));
          break;
        case LaneOps::Kind::kOverlap: {
          const auto j = static_cast<std::size_t>(second - stretch.overlaps.begin());
          const Lanes both =
              overlapped(prices.of(i, op), prices.of(j, *second), prices.gain(*second));
          end = compute(op, later(slots_[op.waits_for], slots_[second->waits_for]), both);
          ++second;
          break;
        }
        case LaneOps::Kind::kCollective:
          end = sum(begin_of(member), prices.of(i, op));
          member = end_for_all(member, end);
          break;
        case LaneOps::Kind::kCopy:
          end = sum(slots_[op.waits_for], prices.of(i, op));
          ranks_[op.rank].last = later(ranks_[op.rank].last, end);
          break;
        case LaneOps::Kind::kJoin:
          end = later(slots_[op.waits_for], slots_[op.price]);
          break;
      }
    }
  }

  [[nodiscard]] TimelineSummary summary(std::size_t lane) const;

 private:
  using Members = std::vector<LaneOps::Member>::const_iterator;
  struct RankLanes {
    Lanes now{}, busy{}, first{}, last{};  // last: of its collectives
    bool computes = false;
  };

  Lanes compute(const LaneOps::Op& op, const Lanes& ready, const Lanes& duration) {
    RankLanes& rank = ranks_[op.rank];
    const Lanes begin = later(ready, rank.now);
    if (op.first_of_rank) {
      rank.first = begin;
      rank.computes = true;
    }
    rank.busy = sum(rank.busy, duration);
    rank.now = sum(begin, duration);
    return rank.now;
  }
  [[nodiscard]] Lanes begin_of(Members member) const;
  Members end_for_all(Members member, const Lanes& end);

  std::vector<Lanes> slots_;
  std::vector<RankLanes> ranks_;
};

}  // namespace penstock
