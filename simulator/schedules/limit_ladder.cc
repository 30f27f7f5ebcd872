#include "simulator/schedules/limit_ladder.h"

#include <algorithm>

namespace penstock {
namespace {

int parts_for(std::size_t ranks, int chunks) {
  if (chunks > 1) return 1;
  if (ranks <= 8) return 4;
  return ranks <= 16 ? 2 : 1;
}

}  // namespace

LimitLadder::LimitLadder(const StageCosts& costs, int chunks, int micro_batches)
    : parts_(parts_for(costs.limit.size(), chunks)),
      lowest_(std::int64_t{chunks} * parts_),
      highest_(lowest_) {
  const std::size_t ranks = costs.limit.size();
  const std::int64_t most_whole = std::int64_t{chunks} * micro_batches;
  const auto parts_in = [&](std::int64_t limit, std::int64_t taken) {
    // Cut off before it is multiplied, since a wild limit could overflow.
    if (limit / taken >= most_whole) return most_whole * parts_;
    return limit / taken * parts_ + limit % taken * parts_ / taken;
  };
  for (std::size_t r = 0; r < ranks; ++r) {
    std::int64_t taken = costs.taken_by_forward[r];
    std::int64_t least = taken;
    if (chunks == 2) {
      const std::int64_t other = costs.taken_by_forward[2 * ranks - 1 - r];
      least += other;
      taken = std::max(taken, other);
    }
    least_.push_back(least);
    taken_.push_back(taken);
    held_.push_back(taken == 0 ? most_whole * parts_ : parts_in(costs.limit[r], taken));
    highest_ = std::max(highest_, held_.back());
  }
}

void LimitLadder::set_limits(std::int64_t rung, RungShape shape,
                             std::vector<std::int64_t>& limits) const {
  for (std::size_t r = 0; r < held_.size(); ++r) {
    const auto less = shape == RungShape::kEven ? 0 : static_cast<std::int64_t>(r / 2) * parts_;
    const std::int64_t parts = std::min(std::max(lowest_, rung - less), held_[r]);
    limits[r] =
        std::max(least_[r], parts / parts_ * taken_[r] + parts % parts_ * taken_[r] / parts_);
  }
}

}  // namespace penstock
