// Finds the steady state of a rolled replay, exactly, and jumps over it.
//
// When every rank has repeated its block for 2L rounds, every end of the last L rounds (the window)
// is known with the one L rounds before it. Suppose that from now on every end grows by the same
// amount, its slope, every L rounds. A step ends at the maximum of its inputs plus its duration, so
// the supposition holds for n more windows if in each maximum of the window the winner has the
// slope of the result, and no loser with a larger slope catches up within n windows. Both are
// checked for every step, in integers; so the times after the jump are those of the plain replay.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock {

struct RolledReplay;

class JumpSearch {
 public:
  // To be called after every round.
  void after_round(RolledReplay& replay);

 private:
  std::int64_t streak_ = 0;     // rounds in which every rank looped
  std::int64_t next_look_ = 0;  // the streak at which to look again
};

}  // namespace penstock
