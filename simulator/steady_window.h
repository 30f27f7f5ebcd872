// The steady state of a rolled replay: two ways to see that the last rounds, the window, will
// repeat, and for how long. Every rank that is left must have looped all the while.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/rolled_replay.h"
#include "simulator/round_history.h"

namespace penstock {

struct SteadyWindow {
  std::int64_t length = 0;             // rounds
  std::int64_t rounds = 0;             // how many more will be like it; 0: not seen to be steady
  std::optional<std::int64_t> period;  // what every time grows by, when it is one for all
};

// Clocks of all ranks and arrivals that wait to be read are those of `length` rounds ago, all later
// by one and the same time. Then the future is the past, later by that time.
SteadyWindow repeating_state(const RolledReplay& replay, const RoundHistory& history,
                             std::int64_t length);

// Every end grows by a constant of its own (ranks may run ahead of each other). A step ends at the
// maximum of its inputs plus its duration; so it goes on like that for n windows if in each maximum
// the winner grows like the result, and no loser that grows faster catches up within n windows.
// The history must hold twice as many rounds.
SteadyWindow growing_lines(const RolledReplay& replay, const RoundHistory& history,
                           std::int64_t length);

// Whether all ranks that are left advance by equally many micro-batches per repetition; and how
// many repetitions every one of them has left, without the last two.
struct Room {
  bool alike = true;
  std::int64_t repetitions = 0;
};
Room room_of(const RolledReplay& replay);

}  // namespace penstock
