#include "simulator/round_history.h"

#include "simulator/rolled_replay.h"

namespace penstock {
void RoundHistory::clear() {
  clocks_.clear();
  sum_.clear();
  relative_.clear();
  growth_.clear();
}

void RoundHistory::add(const RolledReplay& replay) {
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15U;  // 2^64 / golden ratio
  ranks_ = replay.ranks.size();
  std::uint64_t weight = 1, weights = 0, sum = 0;
  const RolledReplay::Rank* first = nullptr;
  for (const RolledReplay::Rank& rank : replay.ranks) {
    clocks_.push_back(rank.now);
    if (rank.done()) continue;
    if (first == nullptr) first = &rank;
    for (std::uint32_t at = rank.block->begin; at < rank.block->end; ++at) {
      sum += weight * static_cast<std::uint64_t>(replay.ends[at]);
      weights += weight;
      weight *= kOdd;
    }
  }
  const std::uint64_t clock = first == nullptr ? 0 : static_cast<std::uint64_t>(first->now);
  growth_.push_back(sum_.empty() ? 0 : sum - sum_.back());
  relative_.push_back(sum - weights * clock);
  sum_.push_back(sum);
}

std::int64_t RoundHistory::next_repeat(std::int64_t length, std::int64_t longest) const {
  const std::uint64_t* const now = &relative_.back();
  while (++length <= longest && now[-length] != *now) {
  }
  return length;
}

std::int64_t RoundHistory::next_growth(std::int64_t length, std::int64_t longest) const {
  const std::uint64_t* const growth = &growth_.back();
  const std::uint64_t* const sum = &sum_.back();
  while (++length <= longest) {
    if (growth[-length] == *growth && *sum - sum[-length] == sum[-length] - sum[-2 * length]) break;
  }
  return length;
}

}  // namespace penstock
