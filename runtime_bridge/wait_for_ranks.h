// Before the first step ranks load and check their parts of a model, behind the last one they write
// theirs of a checkpoint, which takes some much longer than others. A transport would give up after
// its time-out, and say that a rank hangs; here a rank is waited for as long as it shows signs of
// life.
#pragma once

#include <functional>
#include <string>

#include "core/values/units.h"
#include "training/key_value_store.h"

namespace penstock {

struct WaitForRanks {
  int rank = 0, ranks = 1;
  std::string attempt;                          // at the job; of all ranks the same
  Duration silence = std::chrono::seconds(30);  // of a rank, after which it counts as lost
  Duration look_again = std::chrono::milliseconds(20);
};

// Says that this rank is ready and returns when all are. TransportFailure names one that has
// stopped, or from which no heartbeat (heartbeat.h) came for `silence`.
void wait_for_ranks(KeyValueStore& store, const WaitForRanks& options);

// Returns once `done`; asks for nothing of the others but to live until then. TransportFailure as
// above. `what` the ranks wait for: "the last checkpoint was complete".
void wait_while_ranks_live(KeyValueStore& store, const WaitForRanks& options,
                           const std::string& what, const std::function<bool()>& done);

}  // namespace penstock
