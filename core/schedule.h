// A Schedule is, per pipeline rank, the ordered list of its compute actions. Lowering adds the
// communication and makes a Program of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/action_kind.h"
#include "core/ids.h"

namespace penstock {

struct ComputeAction {
  ActionKind kind = ActionKind::kForward;
  StageId stage;
  MicroBatchId micro_batch;
  bool operator==(const ComputeAction&) const = default;
};

struct Schedule {
  std::string name;                    // "1f1b"
  int ranks = 1;                       // P
  int chunks = 1;                      // V, stages per rank
  int micro_batches = 1;               // M
  std::vector<int> rank_of_stage;      // S = P * V entries
  std::vector<ComputeAction> actions;  // rank 0's list, then rank 1's, ...
  std::vector<std::size_t> begin;      // P + 1 offsets into actions

  [[nodiscard]] int stages() const { return static_cast<int>(rank_of_stage.size()); }
  [[nodiscard]] std::span<const ComputeAction> list(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    return std::span(actions).subspan(begin[r], begin[r + 1] - begin[r]);
  }
  bool operator==(const Schedule&) const = default;
};

}  // namespace penstock
