#include "runtime_bridge/ranks_alive.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "runtime_bridge/heartbeat.h"
#include "training/transport.h"

namespace penstock {
namespace {

// One that saw a failure may be writing an emergency checkpoint.
bool may_need_the_store(const HeartbeatMessage& heartbeat) {
  return heartbeat.state == RankCondition::kRunning ||
         heartbeat.state == RankCondition::kSawFailure;
}

}  // namespace

RanksAlive::RanksAlive(std::unique_ptr<KeyValueStore> store, int ranks, Duration silence)
    : store_(std::move(store)),
      seen_(static_cast<std::size_t>(ranks), Seen{-1, steady_now()}),
      silence_(silence) {}

bool RanksAlive::any() {
  bool found = false;
  try {
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      const auto heartbeat = latest_heartbeat(*store_, static_cast<int>(rank));
      if (heartbeat && !may_need_the_store(*heartbeat)) continue;
      Seen& seen = seen_[rank];
      const SteadyTime now = steady_now();
      if (heartbeat && heartbeat->sequence != seen.sequence) seen = {heartbeat->sequence, now};
      found = found || now - seen.changed < silence_;
    }
  } catch (const TransportFailure&) {
    return false;
  }
  return found;
}

}  // namespace penstock
