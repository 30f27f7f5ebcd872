// The clocks of all ranks after each of the last rounds, with a few numbers per round in which a
// period shows: finding one is a search for equal numbers. They are hashes of when every step of
// the blocks ended last; what they say is checked (steady_window.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

struct RolledReplay;

class RoundHistory {
 public:
  void clear();
  // The clocks as they are now. From the second time on, every rank that is left has looped in the
  // round that ended.
  void add(const RolledReplay& replay);

  [[nodiscard]] std::int64_t rounds() const { return static_cast<std::int64_t>(sum_.size()) - 1; }
  [[nodiscard]] std::int64_t clock(std::size_t rank, std::int64_t back) const {
    return clocks_[static_cast<std::size_t>(rounds() - back) * ranks_ + rank];
  }
  // What a rank's clock has grown by in the last `rounds` rounds.
  [[nodiscard]] std::int64_t growth(std::size_t rank, std::int64_t rounds) const {
    return clock(rank, 0) - clock(rank, rounds);
  }

  // The next longer window after which all ends look as they did before it, later by one time;
  // more than `longest` when there is none.
  [[nodiscard]] std::int64_t next_repeat(std::int64_t length, std::int64_t longest) const;
  // Likewise after which every end looks as if it had grown by a constant of its own in each of the
  // last two such windows.
  [[nodiscard]] std::int64_t next_growth(std::int64_t length, std::int64_t longest) const;

 private:
  std::size_t ranks_ = 0;
  std::vector<std::int64_t> clocks_;  // [round][rank]
  // [round], modulo 2^64; sums over all steps with a weight for each.
  std::vector<std::uint64_t> sum_;       // of ends
  std::vector<std::uint64_t> relative_;  // of ends less the first rank's clock
  std::vector<std::uint64_t> growth_;    // of sum, in this round
};

}  // namespace penstock
