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

// Another rank whose heartbeat is looked at.
class Watched {
 public:
  Watched(int rank, SteadyTime now) : rank_(rank), changed_(now) {}
  [[nodiscard]] int rank() const { return rank_; }

  // Why it is not worth waiting any longer; nothing while it lives.
  std::optional<std::string> look(KeyValueStore& store, Duration silence, const std::string& what) {
    const std::optional<HeartbeatMessage> heartbeat = latest_heartbeat(store, rank_);
    const std::string who = "rank " + std::to_string(rank_);
    if (heartbeat && heartbeat->state != RankCondition::kRunning) {
      return who + " stopped before " + what + ": " + heartbeat->reason;
    }
    const std::int64_t sequence = heartbeat ? heartbeat->sequence : -1;
    const SteadyTime now = steady_now();
    if (sequence != sequence_) changed_ = now;
    sequence_ = sequence;
    if (now - changed_ <= silence) return std::nullopt;
    return "no heartbeat came from " + who + " for " +
           std::to_string(silence / std::chrono::seconds(1)) + " s before " + what;
  }

 private:
  int rank_;
  std::int64_t sequence_ = -1;
  SteadyTime changed_;
};

std::vector<Watched> all_others(const WaitForRanks& options) {
  const SteadyTime now = steady_now();
  std::vector<Watched> others;
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (rank != options.rank) others.emplace_back(rank, now);
  }
  return others;
}

}  // namespace

void wait_while_ranks_live(KeyValueStore& store, const WaitForRanks& options,
                           const std::string& what, const std::function<bool()>& done) {
  std::vector<Watched> others = all_others(options);
  while (!done()) {
    for (Watched& other : others) {
      const std::optional<std::string> wrong = other.look(store, options.silence, what);
      if (!wrong) continue;
      // Whoever has ended may have ended because all is done.
      if (done()) return;
      throw TransportFailure(other.rank(), *wrong);
    }
    std::this_thread::sleep_for(options.look_again);
  }
}

void wait_for_ranks(KeyValueStore& store, const WaitForRanks& options) {
  store.set(key_of(options, options.rank), "1");
  std::vector<Watched> missing = all_others(options);
  for (;;) {
    std::erase_if(missing, [&](const Watched& other) {
      return store.get(key_of(options, other.rank())).has_value();
    });
    if (missing.empty()) return;
    for (Watched& other : missing) {
      const auto wrong = other.look(store, options.silence, "the first step");
      if (wrong && !store.get(key_of(options, other.rank()))) {
        throw TransportFailure(other.rank(), *wrong);
      }
    }
    std::this_thread::sleep_for(options.look_again);
  }
}

}  // namespace penstock
