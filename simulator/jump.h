// Jumps over the steady state of a rolled replay, exactly, once it is seen (steady_window.h).
#pragma once

#include <cstdint>

#include "simulator/rolled_replay.h"
#include "simulator/round_history.h"

namespace penstock {

class JumpSearch {
 public:
  explicit JumpSearch(RoundHistory& history) : history_(history) { restart(); }
  // To be called after every round.
  void after_round(RolledReplay& replay);

 private:
  void restart();

  RoundHistory& history_;  // of the rounds in which every rank looped
  // At how many rounds to look again; for lines, whose check takes as long as some rounds, later.
  std::int64_t next_look_ = 0, next_look_at_lines_ = 0;
};

}  // namespace penstock
