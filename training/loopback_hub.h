// What the transports of one LoopbackHub share: posted messages, collectives under way, who waits
// for whom. Private to training/.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "training/loopback.h"

namespace penstock {

// A send or a receive that was posted. Guarded by the hub's mutex, but for the buffer, which only
// whoever copies touches.
struct LoopbackPost {
  enum class State { kPosted, kCopying, kEnded, kCancelled };
  int rank = 0, peer = 0;
  MessageTag tag = 0;
  bool sends = false;
  Buffer buffer;
  std::shared_ptr<CopyEngine::Mark> mark;
  SteadyTime posted;
  State state = State::kPosted;
  SteadyTime there;  // once kEnded: from when on it counts as ended
  std::shared_ptr<CopyEngine::Copy> copy;
};

// The part that a collective has in the hub. Guarded likewise.
struct LoopbackCollective {
  enum class State {
    kGathering,  // members are missing
    kWorking,    // the last one to come does the work
    kWorked,     // and its place among the collectives of its members is still open
    kEnded
  };
  struct Part {
    bool came = false, dropped = false;
    Buffer buffer;
    std::shared_ptr<CopyEngine::Mark> mark;
  };
  GroupCall kind = GroupCall::kBarrier;
  std::string group;
  std::vector<int> members;
  std::vector<Part> parts;  // by member
  std::size_t came = 0;
  SteadyTime last_came, there;
  State state = State::kGathering;
};

class LoopbackHub::State {
 public:
  using Post = std::shared_ptr<LoopbackPost>;
  using Collective = std::shared_ptr<LoopbackCollective>;

  State(int ranks, const LoopbackOptions& options);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] SteadyTime now() const { return clock_.now(); }

  [[nodiscard]] Post post(int rank, int peer, MessageTag tag, bool sends, const Buffer& buffer);
  [[nodiscard]] CommunicatorId form_group(int rank, const std::string& name,
                                          const std::vector<int>& members);
  [[nodiscard]] Collective join(int rank, CommunicatorId group, GroupCall kind,
                                const Buffer& buffer);
  [[nodiscard]] CommunicatorId all_ranks() const { return {0}; }

  [[nodiscard]] bool done(int rank, const Post& post);
  void wait(int rank, const Post& post);
  [[nodiscard]] std::optional<SteadyTime> ended(const Post& post);
  void drop(const Post& post);  // nobody touches its buffer any more

  [[nodiscard]] bool done(int rank, const Collective& collective);
  void wait(int rank, const Collective& collective);
  [[nodiscard]] std::optional<SteadyTime> ended(const Collective& collective);
  void drop(int rank, const Collective& collective);

  void abort(int rank, const std::string& reason);

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Key = std::tuple<int, int, MessageTag>;  // from, to, tag
  struct Queue {
    std::deque<Post> sends, receives;
  };
  struct Group {
    std::string name;
    std::vector<int> members;
    std::vector<std::uint64_t> calls;  // of every member
    std::deque<Collective> open;       // calls first_open, first_open + 1, ...
    std::uint64_t first_open = 0;
  };
  struct Failure {
    int rank;
    std::string reason;
  };

  [[nodiscard]] Post take_partner(const Key& key, bool sends);
  void copy(const Post& send, const Post& receive);
  [[nodiscard]] static std::size_t position_of(const std::vector<int>& members, int rank);
  void work(const Collective& collective);
  void settle(const Collective& collective);
  [[nodiscard]] bool heads_all(const Collective& collective) const;

  template <class Pending>
  void wait_for(int rank, const std::shared_ptr<Pending>& pending, const std::string& what);
  [[nodiscard]] static std::vector<int> awaited(const LoopbackPost& post);
  [[nodiscard]] static std::vector<int> awaited(const LoopbackCollective& collective);
  [[nodiscard]] int culprit(int rank) const;
  [[noreturn]] void time_out(int rank, const std::string& what) const;
  void throw_if_aborted(int rank) const;
  void wake(int rank) { clock_.wake(changed_[static_cast<std::size_t>(rank)]); }
  void wake_all();

  const int ranks_;
  const LoopbackOptions options_;
  HostCopies host_copies_;
  CopyEngine& engine_;
  SteadyRankClock steady_clock_;
  RankClock& clock_;

  mutable std::mutex mutex_;
  std::vector<std::condition_variable> changed_;  // [rank]
  std::map<Key, Queue> queues_;
  std::deque<Group> groups_;                      // the first: all ranks; references stay valid
  std::vector<std::deque<Collective>> in_order_;  // [rank], with delays: not settled yet
  std::vector<SteadyTime> collectives_end_;       // [rank], with delays
  // [rank]: whom it waits for by now; nothing when it has not waited yet or went on.
  std::vector<std::function<std::vector<int>()>> waits_for_;
  std::optional<Failure> failure_;
};

}  // namespace penstock
