#include "simulator/stash_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace penstock {
namespace {

// What is held more after the action than before.
std::int64_t change_of(ActionKind kind, const ComputePrice& price) {
  switch (kind) {
    case ActionKind::kForward:
      return price.stash.count;
    case ActionKind::kFusedBackward:
      return -price.stash.count;
    case ActionKind::kInputGradient:
      return price.weight_stash.count - price.stash.count;
    case ActionKind::kWeightGradient:
      return -price.weight_stash.count;
    default:
      return 0;
  }
}

}  // namespace

std::vector<Bytes> peak_stash_bytes(const Program& program, const StagePrices& prices) {
  const auto ranks = static_cast<std::size_t>(program.ranks());
  std::vector<std::int64_t> held(ranks, 0);
  std::vector<Bytes> peaks(ranks);
  for (const Action& action : program.actions) {
    if (!is_compute(action.kind) || action.kind == ActionKind::kOptimizer) continue;
    const Stage& stage = program.stages[action.stage.value];
    const Pipeline& pipeline = program.pipelines[static_cast<std::size_t>(stage.pipeline)];
    const auto rank = static_cast<std::size_t>(stage.rank.value);
    held[rank] += change_of(
        action.kind, prices.compute_of(action.stage.value - pipeline.first_stage,
                                       program.micro_batches[action.micro_batch.value].shape));
    peaks[rank].count = std::max(peaks[rank].count, held[rank]);
  }
  return peaks;
}

}  // namespace penstock
