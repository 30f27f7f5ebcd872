// The search: every split and micro-batch plan for up to N devices, ranked, with reasons. The same
// answer, to the byte, for any number of threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "search/choose_cuts.h"  // equal_cuts(), for comparison
#include "search/evaluate.h"
#include "search/trainers.h"

namespace penstock {

// What the user fixed; everything else is searched.
struct Pins {
  std::optional<int> pipeline, chunks, data, tensor, context, expert, expert_tensor,
      micro_batch_size;
  std::optional<ContextKind> context_kind;  // C > 1; else a ring
  std::vector<std::string> schedules;       // empty: all
  std::optional<std::string> recompute;
  // Beside the mode in all sections: in as few of each stage as its memory asks for.
  bool recompute_as_needed = false;
  std::optional<bool> zero1;         // without `sharding`: ZeRO-1 and no more, or nothing
  std::optional<Sharding> sharding;  // for more than one replica
  std::optional<int> shard_group;    // of FSDP and ZeRO-3
  // The optimizer's state to the host; nothing: both are tried.
  std::optional<bool> offload = false;
  std::optional<std::string> device;
  std::optional<Placement> placement;
};

struct SearchRequest {
  int gpus = 1;  // N: at most this many are used
  int global_batch = 1;
  int sequence_length = 0;  // 0: the longest that was measured
  Pins pins;
  const Trainer* trainer = nullptr;  // only what it can run
  int top = 10;                      // K
  // Instead of the Pareto front: the fastest plan on at most each of so many GPUs (ascending, the
  // last is `gpus`).
  std::vector<int> sizes;
  // Only a plan that takes less is wanted, and only the fastest: the answer has it or nothing.
  // Bounds over all cuts leave out the rest; what better cuts may bring below it is searched as
  // ever.
  std::optional<Duration> faster_than;
  int threads = 1;
  bool bounds = true;  // false: replay every candidate (slow; the oracle of the tests)
};

// Told of the search while it runs; may end it.
class SearchProgress {
 public:
  virtual ~SearchProgress() = default;
  // Called now and then from the thread that searches. `best_step` is zero until a plan is known.
  virtual void update(std::int64_t done, std::int64_t candidates, Duration best_step) {
    static_cast<void>(done), static_cast<void>(candidates), static_cast<void>(best_step);
  }
  // Called from any thread of the search, one at a time.
  virtual bool stop() { return false; }
};

// Error{kBadInput} for a request that makes no sense (gpus < 1, more than the cluster has, a pin to
// an unknown schedule). No plan that fits is a result, not an error: `best` is empty and `rejected`
// and `nearest_miss` say why.
SearchResult best_plans(const PlanInputs& inputs, const SearchRequest& request,
                        SearchProgress& progress);

}  // namespace penstock
