// Jumps over the steady state of a rolled replay, exactly, once it is seen (steady_window.h).
#pragma once

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
