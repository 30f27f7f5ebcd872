#include "simulator/schedules/limit_ladder.h"

#include <algorithm>
#include <limits>

namespace penstock {
namespace {

// Ranks times micro-batches.
constexpr std::int64_t kMostForLowered = 128;

int parts_for(std::size_t ranks, int chunks) {
  if (chunks > 1) return 1;
  if (ranks <= 8) return 4;
  return ranks <= 16 ? 2 : 1;
}

}  // namespace

LimitLadder::LimitLadder(const StageCosts& costs, int chunks, int micro_batches)
    : parts_(parts_for(costs.limit.size(), chunks)),
      most_parts_(std::int64_t{chunks} * micro_batches * parts_),
      lowest_(std::int64_t{chunks} * parts_),
      highest_(lowest_),
      limit_(costs.limit) {
  const std::size_t ranks = costs.limit.size();
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
    held_.push_back(parts_in(r));
  }
  highest_ = std::max(highest_, highest_now());
}

std::int64_t LimitLadder::parts_in(std::size_t rank) const {
  const std::int64_t limit = limit_[rank], taken = taken_[rank];
  // Cut off before it is multiplied, since a wild limit could overflow.
  if (taken == 0 || limit / taken >= most_parts_ / parts_) return most_parts_;
  return limit / taken * parts_ + limit % taken * parts_ / taken;
}

std::int64_t LimitLadder::highest_now() const {
  return *std::max_element(held_.begin(), held_.end());
}

bool LimitLadder::tries_lowered() const {
  return static_cast<std::int64_t>(limit_.size()) * (most_parts_ / parts_) <= kMostForLowered;
}

// The largest limit that admits fewer than h = q parts + m of them is q activations and one byte
// less than m parts of one.
bool LimitLadder::lower() {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t r = 0; r < limit_.size(); ++r) {
    if (taken_[r] == 0) continue;
    const std::int64_t whole = held_[r] / parts_, rest = held_[r] % parts_;
    const std::int64_t below =
        rest > 0 ? whole * taken_[r] + (rest * taken_[r] - 1) / parts_ : whole * taken_[r] - 1;
    least = std::min(least, limit_[r] - below);
  }
  for (std::size_t r = 0; r < limit_.size(); ++r) {
    if (least > limit_[r] - least_[r]) return false;
  }
  for (std::size_t r = 0; r < limit_.size(); ++r) {
    limit_[r] -= least;
    held_[r] = parts_in(r);
  }
  return true;
}

std::int64_t LimitLadder::asked_of(std::size_t rank, std::int64_t rung, RungShape shape) const {
  const auto less = shape == RungShape::kEven ? 0 : static_cast<std::int64_t>(rank / 2) * parts_;
  return std::max(lowest_, rung - less);
}

bool LimitLadder::is_limited(std::int64_t rung, RungShape shape) const {
  for (std::size_t r = 0; r < held_.size(); ++r) {
    if (asked_of(r, rung, shape) > held_[r]) return true;
  }
  return false;
}

void LimitLadder::set_limits(std::int64_t rung, RungShape shape,
                             std::vector<std::int64_t>& limits) const {
  for (std::size_t r = 0; r < held_.size(); ++r) {
    const std::int64_t parts = std::min(asked_of(r, rung, shape), held_[r]);
    limits[r] =
        std::max(least_[r], parts / parts_ * taken_[r] + parts % parts_ * taken_[r] / parts_);
  }
}

}  // namespace penstock
