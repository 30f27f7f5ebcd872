#include "runtime_bridge/wait_for_ranks.h"

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "runtime_bridge/heartbeat.h"
#include "training/steady_time.h"
#include "training/transport.h"

namespace penstock {
namespace {

std::string key_of(const WaitForRanks& options, int rank) {
  return "ready/" + options.attempt + "/" + std::to_string(rank);
}

class Missing {
 public:
  Missing(int rank, SteadyTime now) : rank_(rank), changed_(now) {}
  [[nodiscard]] int rank() const { return rank_; }

  void look(KeyValueStore& store, const WaitForRanks& options) {
    const std::optional<HeartbeatMessage> heartbeat = latest_heartbeat(store, rank_);
    const std::string who = "rank " + std::to_string(rank_);
    if (heartbeat && heartbeat->state != RankCondition::kRunning) {
      throw TransportFailure(rank_, who + " stopped before the first step: " + heartbeat->reason);
    }
    const std::int64_t sequence = heartbeat ? heartbeat->sequence : -1;
    const SteadyTime now = steady_now();
    if (sequence != sequence_) changed_ = now;
    sequence_ = sequence;
    if (now - changed_ <= options.silence) return;
    throw TransportFailure(rank_, who +
                                      " is not ready for the first step, and no heartbeat came "
                                      "from it for " +
                                      std::to_string(options.silence / std::chrono::seconds(1)) +
                                      " s");
  }

 private:
  int rank_;
  std::int64_t sequence_ = -1;
  SteadyTime changed_;
};

}  // namespace

void wait_for_ranks(KeyValueStore& store, const WaitForRanks& options) {
  store.set(key_of(options, options.rank), "1");
  const SteadyTime began = steady_now();
  std::vector<Missing> missing;
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (rank != options.rank) missing.emplace_back(rank, began);
  }
  for (;;) {
    std::erase_if(missing, [&](const Missing& other) {
      return store.get(key_of(options, other.rank())).has_value();
    });
    if (missing.empty()) return;
    for (Missing& other : missing) other.look(store, options);
    std::this_thread::sleep_for(options.look_again);
  }
}

}  // namespace penstock
