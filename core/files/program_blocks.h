// A rank's list of actions as blocks "repeat n times, micro-batches advance by k", and the names of
// actions in them: how plan files hold a Program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/ids.h"

namespace penstock {

// An action of one rank's list, as its name says it: the micro-batch is counted from the start of
// the pipeline, and kNoMicroBatch where the kind has none.
struct ListedAction {
  std::uint32_t micro_batch = kNoMicroBatch.value;
  std::uint16_t stage = 0;
  ActionKind kind = ActionKind::kForward;
  // OVERLAP(F;B): the fused backward that runs together with this forward.
  std::uint16_t backward_stage = kNoStage.value;
  std::uint32_t backward = kNoMicroBatch.value;  // its micro-batch
  bool operator==(const ListedAction&) const = default;

  [[nodiscard]] bool is_pair() const { return backward_stage != kNoStage.value; }
  // Of a pair, alone.
  [[nodiscard]] ListedAction first() const { return {micro_batch, stage, kind}; }
  [[nodiscard]] ListedAction second() const {
    return {backward, backward_stage, ActionKind::kFusedBackward};
  }
};

// "0F3", "1REDUCE_GRAD", "(0F7;7B3)OVERLAP_F_B".
std::string name_of(const ListedAction& action);
// Nothing unless the whole text is the name of an action, written as name_of() writes it.
std::optional<ListedAction> action_named(std::string_view name);

struct Block {
  std::uint32_t repeat = 1;
  std::int64_t advance = 0;  // of every micro-batch from one repetition to the next
  std::vector<ListedAction> actions;
  bool operator==(const Block&) const = default;
};

// From the front of the list on, the repetition with a period of at most `longest_period` actions
// that covers most; actions that no repetition covers are gathered in blocks of repeat 1.
std::vector<Block> compress(const std::vector<ListedAction>& list, std::size_t longest_period);

// Appends what a block stands for. Every micro-batch it reaches must be known to fit 32 bits.
void expand(const Block& block, std::vector<ListedAction>& list);

}  // namespace penstock
