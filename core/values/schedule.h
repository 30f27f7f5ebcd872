// A Schedule is, per pipeline rank, the ordered list of its compute actions. Lowering adds the
// communication and makes a Program of it. The lists are stored rolled up, as blocks that repeat,
// so that making and reading one costs as much for a million micro-batches as for a hundred.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/ids.h"
#include "core/values/run_time_rule.h"

namespace penstock {

struct ComputeAction {
  ActionKind kind = ActionKind::kForward;
  // OVERLAP(F;B): this forward runs together with the fused backward that follows it.
  bool overlaps_next = false;
  StageId stage;
  MicroBatchId micro_batch;
  bool operator==(const ComputeAction&) const = default;
};

// The actions [begin, end) `repeat` times; each time their micro-batches are `advance` further.
struct ScheduleBlock {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t repeat = 1;
  std::int32_t advance = 0;
  bool operator==(const ScheduleBlock&) const = default;
};

struct Schedule {
  std::string name;       // "1f1b"
  int ranks = 1;          // P
  int chunks = 1;         // V, stages per rank, those of all copies together
  int micro_batches = 1;  // M; with slices, one entry per slice
  // Copies of the weights: the stages are `copies` chains of equal length, and each takes its equal
  // share of the micro-batches, copy 0 the first.
  int copies = 1;
  RunTimeRule rule = RunTimeRule::kNone;
  std::vector<int> rank_of_stage;      // S = P * V entries
  std::vector<ComputeAction> actions;  // of all blocks; micro-batches of the first repetition
  std::vector<ScheduleBlock> blocks;   // rank 0's, then rank 1's, ...
  std::vector<std::size_t> begin;      // P + 1 offsets into blocks

  [[nodiscard]] int stages() const { return static_cast<int>(rank_of_stage.size()); }
  [[nodiscard]] int stages_per_copy() const { return stages() / copies; }
  [[nodiscard]] int micro_batches_per_copy() const { return micro_batches / copies; }
  // Whether the stage takes its activation from the stage before it, its gradient from the next.
  [[nodiscard]] bool has_previous(int stage) const { return stage % stages_per_copy() > 0; }
  [[nodiscard]] bool has_next(int stage) const { return (stage + 1) % stages_per_copy() > 0; }

  // One rank's list, written out.
  [[nodiscard]] std::vector<ComputeAction> list(int rank) const;
  [[nodiscard]] std::size_t length(int rank) const;
  // Of all ranks.
  [[nodiscard]] std::size_t length() const;
};

// A Schedule of lists that are written out, one per rank. The caller sets copies and rule.
Schedule schedule_of_lists(std::string name, int micro_batches, std::vector<int> rank_of_stage,
                           const std::vector<std::vector<ComputeAction>>& lists);

// Walks one rank's list without writing it out.
class ListCursor {
 public:
  ListCursor(const Schedule& schedule, int rank)
      : actions_(schedule.actions.data()),
        block_(schedule.blocks.data() + schedule.begin[static_cast<std::size_t>(rank)]),
        end_(schedule.blocks.data() + schedule.begin[static_cast<std::size_t>(rank) + 1]) {
    enter_block();
  }

  [[nodiscard]] bool done() const { return block_ == end_; }
  [[nodiscard]] ComputeAction operator*() const { return shifted(at_); }
  // The second member of an OVERLAP whose first the cursor is at. Pairs do not cross blocks.
  [[nodiscard]] ComputeAction second() const { return shifted(at_ + 1); }

  ListCursor& operator++() {
    if (++at_ < block_->end) return *this;
    if (++repetition_ < block_->repeat) {
      at_ = block_->begin;
      shift_ += static_cast<std::uint32_t>(block_->advance);
      return *this;
    }
    ++block_;
    enter_block();
    return *this;
  }

 private:
  void enter_block() {
    while (block_ != end_ && (block_->repeat == 0 || block_->begin == block_->end)) ++block_;
    if (block_ == end_) return;
    at_ = block_->begin;
    repetition_ = shift_ = 0;
  }
  [[nodiscard]] ComputeAction shifted(std::uint32_t at) const {
    ComputeAction action = actions_[at];
    action.micro_batch.value += shift_;  // modulo 2^32: advances may be negative
    return action;
  }

  const ComputeAction* actions_;
  const ScheduleBlock* block_;
  const ScheduleBlock* end_;
  std::uint32_t at_ = 0, repetition_ = 0, shift_ = 0;
};

}  // namespace penstock
