#include "runtime_bridge/ranks_alive.h"

#include <cstddef>

#include "runtime_bridge/heartbeat.h"
#include "training/transport.h"

namespace penstock {
namespace {

bool works(const HeartbeatMessage& heartbeat) {
  return heartbeat.state == RankCondition::kRunning ||
         heartbeat.state == RankCondition::kSawFailure;
}

}  // namespace

RanksAlive::RanksAlive(KeyValueStore& store, int ranks, Duration silence)
    : store_(store),
      seen_(static_cast<std::size_t>(ranks), Seen{-1, steady_now()}),
      silence_(silence) {}

bool RanksAlive::look(int rank) {
  const auto heartbeat = latest_heartbeat(store_, rank);
  if (heartbeat && !works(*heartbeat)) return false;
  Seen& seen = seen_[static_cast<std::size_t>(rank)];
  const SteadyTime now = steady_now();
  if (heartbeat && heartbeat->sequence != seen.sequence) seen = {heartbeat->sequence, now};
  return now - seen.changed < silence_;
}

bool RanksAlive::any() {
  try {
    bool found = false;
    for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
      found = look(static_cast<int>(rank)) || found;
    }
    return found;
  } catch (const TransportFailure&) {
    return false;
  }
}

bool RanksAlive::is_alive(int rank) {
  try {
    return look(rank);
  } catch (const TransportFailure&) {
    return false;
  }
}

}  // namespace penstock
