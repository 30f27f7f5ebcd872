// Heartbeats: each rank writes into the job's store, once a second, how far it is. When a
// transfer fails, that says which rank is to blame, also to ranks that only saw others stop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/values/units.h"
#include "training/key_value_store.h"
#include "training/transport.h"

namespace penstock {

enum class RankCondition {
  kRunning,
  kSawFailure,  // stopped because a transfer failed
  kFailed,      // stopped on its own account
  kFinished,
};

// What a rank writes; the store holds its latest.
struct HeartbeatMessage {
  std::int64_t sequence = 0;  // grows while the rank lives
  RankCondition state = RankCondition::kRunning;
  std::int64_t step = 0;
  std::int64_t position = 0;  // in the rank's list of actions
  std::string process;        // "pid 4711 on host a"
  std::string reason;         // why it stopped
  bool operator==(const HeartbeatMessage&) const = default;
};
std::string write_heartbeat(const HeartbeatMessage& message);
// Nothing when it is malformed.
std::optional<HeartbeatMessage> read_heartbeat(const std::string& text);

// What a rank wrote last, if anything.
std::optional<HeartbeatMessage> latest_heartbeat(KeyValueStore& store, int rank);

// Heartbeats of all ranks when this rank looked first and when it looked last, `watched` apart.
struct HeartbeatsSeen {
  std::vector<std::optional<HeartbeatMessage>> first, last;
  Duration watched{};
  bool store_is_lost = false;  // heartbeats before that are not among them
};

struct HeartbeatOptions {
  int rank = 0, ranks = 1;
  std::string process;                                 // "pid 4711 on host a"
  Duration interval = std::chrono::seconds(1);         // between heartbeats
  Duration silence = std::chrono::milliseconds(3000);  // after which a rank counts as lost
  // The rank that serves the store, and ends last when all fails; nothing: no rank does.
  std::optional<int> store_rank;
  // Whether heartbeats go to a folder because the store was lost (lasting_store.h), so that the
  // ones before cannot be seen any more; empty: no.
  std::function<bool()> store_is_lost{};
};

// Writes from a thread of its own while it lives.
class Heartbeat {
 public:
  Heartbeat(const HeartbeatOptions& options, std::unique_ptr<KeyValueStore> store);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();

  // The rank is at this action of this step. Cheap: called before every action.
  void at(std::int64_t step, std::int64_t position) {
    step_.store(step, std::memory_order_relaxed);
    position_.store(position, std::memory_order_relaxed);
  }
  // Tells the others at once, if the store is still there.
  void stopped(RankCondition state, const std::string& reason);

  // After `failure`: says that this rank stopped because of it, waits until it is clear which other
  // ranks live, and returns a failure that names who is to blame. Looks once: a later call says
  // what the first one found.
  [[nodiscard]] TransportFailure explain(const TransportFailure& failure);
  // The first half of that: looks, and returns the ranks that are lost or stopped on their own
  // account. TransportFailure when the store is gone.
  std::set<int> look(const TransportFailure& failure);

 private:
  void write_signs();
  void write_one();
  std::vector<std::optional<HeartbeatMessage>> read_all();
  HeartbeatsSeen watch_the_others();
  [[nodiscard]] bool serves_store() const { return options_.store_rank == options_.rank; }
  [[nodiscard]] TransportFailure without_store(const TransportFailure& failure,
                                               const std::string& unreachable) const;

  HeartbeatOptions options_;
  std::unique_ptr<KeyValueStore> store_;  // guarded by store_mutex_
  std::optional<HeartbeatsSeen> seen_;    // by look()
  std::mutex store_mutex_;
  std::atomic<std::int64_t> step_{0}, position_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  RankCondition state_ = RankCondition::kRunning;
  std::string reason_;
  std::int64_t sequence_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

// Runs `body`, then says that the rank has finished. A TransportFailure leaves it explained, of any
// other exception the others are told first.
void run_watched(Heartbeat& heartbeat, const std::function<void()>& body);

struct Blame {
  std::optional<int> rank;
  std::string words;  // "rank 2 (pid 4711 on host a) was lost in step 17: ..."
  bool operator==(const Blame&) const = default;
};
// The judgement itself, a pure function.
Blame blame(const HeartbeatsSeen& seen, int own_rank);

}  // namespace penstock
