#include <algorithm>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

Duration compute_duration(const PlanFile& file, const Action& action) {
  const int stage = index_in_pipeline(file.program, action.stage);
  if (action.kind == ActionKind::kOptimizer) {
    return file.prices.step[static_cast<std::size_t>(stage)].optimizer.duration;
  }
  const ComputePrice& price =
      file.prices.compute_of(stage, file.program.micro_batches[action.micro_batch.value].shape);
  switch (action.kind) {
    case ActionKind::kForward:
      return price.forward.duration;
    case ActionKind::kInputGradient:
      return price.input_gradient.duration;
    case ActionKind::kWeightGradient:
      return price.weight_gradient.duration;
    case ActionKind::kFusedBackward:
      return price.fused_backward.duration;
    default:
      return price.recompute.duration;
  }
}

Duration transfer_duration(const PlanFile& file, const Action& send) {
  const int stage = index_in_pipeline(file.program, send.stage);
  const int shape = file.program.micro_batches[send.micro_batch.value].shape;
  return send.kind == ActionKind::kSendActivation
             ? file.prices.transfer_of(stage, shape).activation.duration
             : file.prices.transfer_of(stage - 1, shape).gradient.duration;
}

Duration collective_duration(const PlanFile& file, const Action& action) {
  if (action.kind == ActionKind::kNorm) return file.prices.norm.duration;
  const auto stage = static_cast<std::size_t>(index_in_pipeline(file.program, action.stage));
  if (action.kind == ActionKind::kUnshard) return file.prices.step[stage].unshard.duration;
  if (action.kind == ActionKind::kReduceGradient) {
    return file.prices.step[stage].reduce_gradient.duration;
  }
  for (std::size_t k = 0; k < file.ties.size(); ++k) {
    if ("tied." + file.ties[k].name == file.program.groups[action.group.value].name) {
      return file.prices.tied_reduce[k].reduce.duration;
    }
  }
  return {};
}

}  // namespace

Duration duration_of(const PlanFile& file, const Action& action) {
  const auto stage = static_cast<std::size_t>(index_in_pipeline(file.program, action.stage));
  if (action.kind == ActionKind::kReshard) return {};
  if (action.kind == ActionKind::kLoad) return file.prices.step[stage].load.duration;
  if (action.kind == ActionKind::kStore) return file.prices.step[stage].store.duration;
  if (is_collective(action.kind)) return collective_duration(file, action);
  if (is_send(action.kind)) return transfer_duration(file, action) + file.executor.per_transfer;
  return compute_duration(file, action) + file.executor.per_action;
}

Duration duration_of_pair(const PlanFile& file, const Action& forward, const Action& backward) {
  const Duration f = duration_of(file, forward), b = duration_of(file, backward);
  const int shape = file.program.micro_batches[forward.micro_batch.value].shape;
  const int stage = index_in_pipeline(file.program, forward.stage);
  return std::max({f, b, f + b - file.prices.compute_of(stage, shape).overlap_gain});
}

}  // namespace penstock
