// Ranks that are threads of one process: the transport of virtual runs, of tests, and of several
// ranks on one GPU. Sums come out the same to the bit whatever the timing of the threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/values/units.h"
#include "training/copy_engine.h"
#include "training/rank_clock.h"
#include "training/transport.h"

namespace penstock {

enum class GroupCall { kAllReduce, kReduceScatter, kAllGather, kBarrier };

// What the way takes, for runs that are to keep the times of a plan. Asked by several threads at
// once.
class LoopbackDelays {
 public:
  virtual ~LoopbackDelays() = default;
  // The message is there so long after it was sent.
  [[nodiscard]] virtual Duration of_message(int from, int to, MessageTag tag,
                                            std::size_t bytes) const = 0;
  // Of one collective; the name is that of form_group(), empty for the barrier of all ranks. The
  // collectives of a rank run one after the other, in the order of its calls: each ends so long
  // after its last member was ready.
  [[nodiscard]] virtual Duration of_collective(const std::string& group, GroupCall kind,
                                               std::size_t bytes) const = 0;
};

struct LoopbackOptions {
  Duration time_out = std::chrono::minutes(5);  // of each wait
  // Kept alive by the caller, longer than the last transport of the hub. None: no delays, memcpy.
  const LoopbackDelays* delays = nullptr;
  CopyEngine* engine = nullptr;
  // Likewise; none: the steady clock.
  RankClock* clock = nullptr;
};

// Makes the Transport of every rank, each to be used by one thread; they keep what they share
// alive. A rank that waits in vain names the rank that all is waiting for in the end, which is the
// one that waits for nobody.
class LoopbackHub {
 public:
  LoopbackHub(int ranks, const LoopbackOptions& options);
  ~LoopbackHub();
  LoopbackHub(const LoopbackHub&) = delete;
  LoopbackHub& operator=(const LoopbackHub&) = delete;

  [[nodiscard]] std::unique_ptr<Transport> transport(int rank);

  class State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace penstock
