// The steady state of a rolled replay: two ways to see that the last `rounds` rounds, the window,
// will repeat, and for how many windows. Every rank that is left must have looped all the while.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/rolled_replay.h"

namespace penstock {

struct SteadyWindow {
  std::int64_t rounds = 0;
  std::int64_t windows = 0;            // how many more will be like it; 0: not seen to be steady
  std::vector<std::int64_t> busy;      // per rank and window
  std::optional<std::int64_t> period;  // what every time grows by, when it is one for all
};

// Clocks of all ranks and arrivals that wait to be read are those of `rounds` rounds ago, all later
// by one and the same time. Then the future is the past, later by that time: needs `rounds` + 1
// rounds.
SteadyWindow repeating_state(const RolledReplay& replay, std::int64_t rounds);

// Every end grows by a constant of its own (ranks may run ahead of each other). A step ends at the
// maximum of its inputs plus its duration; so it goes on like that for n windows if in each maximum
// the winner grows like the result, and no loser that grows faster catches up within n windows.
// Needs 2 * `rounds` + 1 rounds.
SteadyWindow growing_lines(const RolledReplay& replay, std::int64_t rounds);

// Whether all ranks that are left advance by equally many micro-batches per repetition; and how
// many repetitions every one of them has left, without the last two.
struct Room {
  bool alike = true;
  std::int64_t repetitions = 0;
};
Room room_of(const RolledReplay& replay);

// End of a rank's `back`-th last round.
inline std::int64_t clock_of(const RolledReplay::Rank& rank, std::int64_t back) {
  return rank.ends[rank.ends.size() - 1 - static_cast<std::size_t>(back) * rank.size()];
}

}  // namespace penstock
