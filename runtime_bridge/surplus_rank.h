// A rank that a launcher started and the plan has no use for. It must not end before the others:
// torchrun's agents wait five minutes for each other at the end, then give up on the job.
#pragma once

#include <functional>
#include <string>

#include "core/values/units.h"
#include "training/key_value_store.h"

namespace penstock {

struct SurplusRank {
  int ranks = 1;                                // that the plan has: 0..ranks-1
  Duration silence = std::chrono::seconds(60);  // of all of them, after which they count as lost
  Duration look_again = std::chrono::seconds(1);
  std::function<bool()> is_stopped;  // asked at every look: whether this rank was told to end
};

enum class SurplusEnd {
  kFinished,  // the others have, or their store has gone with them
  kStopped,   // is_stopped
  kFailed,    // one of the others stopped on account of a failure, or all are silent
};

// Returns when the job has ended, by the heartbeats of its ranks.
SurplusEnd wait_beside(KeyValueStore& store, const SurplusRank& options);

}  // namespace penstock
