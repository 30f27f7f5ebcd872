// The lists of ranks that meet for their transfers: compute and transfers in the order in which a
// rank carries them out, rolled up. All that a step waits for is the one before it on its rank, or
// the other rank of a transfer; so a replay keeps one clock per rank (meeting_replay.h). They
// depend on the order of actions and not on prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "simulator/steady_program.h"

namespace penstock {

struct MeetingLists {
  // What steps cost alike.
  struct Cost {
    struct Of {
      ActionKind kind = ActionKind::kForward;
      StageId stage = kNoStage;
      int shape = 0;  // of the micro-batch
    };
    Of first, second;      // `second`: the other member of an OVERLAP
    bool is_pair = false;  // there is one
  };
  struct Step {
    std::uint32_t cost = 0;
    std::int32_t peer = -1;       // the rank that it meets; -1: it computes
    std::uint32_t channel = 0;    // of a transfer: which, the same at both ends
    std::int32_t completes = -1;  // the stage of whose gradients it computes a part
    bool operator==(const Step&) const = default;
  };
  struct Block {
    std::uint32_t begin = 0, end = 0;  // steps
    std::int64_t repeat = 1;
  };

  std::vector<Cost> costs;
  std::vector<Step> steps;
  std::vector<Block> blocks;
  std::vector<std::size_t> begin;  // of every rank's blocks, and the end
  std::int64_t actions = 0;        // of the whole Program

  [[nodiscard]] std::size_t ranks() const { return begin.empty() ? 0 : begin.size() - 1; }
};

// Whether all that ranks do, under this executor, stands in their lists and meets.
[[nodiscard]] bool ranks_meet(const ExecutorModel& executor);

// Of a step of many micro-batches, from the Programs of few, or from its own where it is small.
// Nothing where something waits otherwise (for a copy from the host, or for compute of another rank
// without a transfer) or lists are not a beginning, windows and an end. As steady_program() it
// relies on that of generators: two numbers of micro-batches are looked at.
std::shared_ptr<const MeetingLists> meeting_lists(const ManyMicroBatches& many,
                                                  const LowerFewer& lower);

}  // namespace penstock
