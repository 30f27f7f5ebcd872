// When every step of a rolled replay ended: those that ran one by one, and what jumps went over.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock {

struct ReplayLog {
  // What one jump left out: `rounds` rounds, each like the one `length` rounds before it, later by
  // `period`, or (lines that grow) by what that one was later than the one before.
  struct Jump {
    std::int64_t rounds = 0, length = 1;
    std::optional<std::int64_t> period;
    // By rank: where in its list the first step that is left out stands; its steps per round, 0
    // when it had done its list.
    std::vector<std::int64_t> position, steps_per_round;
  };
  std::vector<std::vector<std::int64_t>> ends;  // [rank], of the steps that ran, in order
  std::vector<Jump> jumps;
};

}  // namespace penstock
