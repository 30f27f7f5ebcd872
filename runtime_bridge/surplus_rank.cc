#include "runtime_bridge/surplus_rank.h"

#include <cstdint>
#include <optional>
#include <thread>

#include "runtime_bridge/heartbeat.h"
#include "training/steady_time.h"
#include "training/transport.h"

namespace penstock {
namespace {

// What the others' heartbeats say now; `sum` changes while any of them lives.
struct Look {
  int finished = 0;
  bool failed = false;
  std::int64_t sum = 0;
};

Look look(KeyValueStore& store, int ranks) {
  Look seen;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::optional<HeartbeatMessage> heartbeat = latest_heartbeat(store, rank);
    if (!heartbeat) continue;
    seen.finished += heartbeat->state == RankCondition::kFinished ? 1 : 0;
    seen.failed = seen.failed || heartbeat->state == RankCondition::kSawFailure ||
                  heartbeat->state == RankCondition::kFailed;
    seen.sum += heartbeat->sequence;
  }
  return seen;
}

}  // namespace

SurplusEnd wait_beside(KeyValueStore& store, const SurplusRank& options) {
  std::int64_t sum = -1;
  SteadyTime changed = steady_now();
  try {
    for (;;) {
      if (options.is_stopped && options.is_stopped()) return SurplusEnd::kStopped;
      const Look seen = look(store, options.ranks);
      if (seen.failed) return SurplusEnd::kFailed;
      if (seen.finished == options.ranks) return SurplusEnd::kFinished;
      const SteadyTime now = steady_now();
      if (seen.sum != sum) changed = now;
      sum = seen.sum;
      if (now - changed > options.silence) return SurplusEnd::kFailed;
      std::this_thread::sleep_for(options.look_again);
    }
  } catch (const TransportFailure&) {
    // Whoever served the store is gone. It ends last when all is well, and says itself what is not.
    return SurplusEnd::kFinished;
  }
}

}  // namespace penstock
