#include "search/trainers.h"

namespace penstock {
namespace {

// PyTorch's pipelining runtime executes any lists of F, B, I, W on stages that each live on one
// rank (its CSV); torchtitan hands such a file on, for the loop and the V placement.
std::string why_not_a_csv(const ScheduleKind& kind) {
  if (copies_of(kind.map) > 1) return "two copies of the weights cannot be placed";
  if (kind.recomputes || kind.rule != RunTimeRule::kNone) {
    return "a list cannot recompute or change its order while it runs";
  }
  if (kind.has_slices) return "sequences are not cut into slices";
  return "";
}

// Ours carries out any static lists, with any number of copies of the weights, and two of Varuna's
// rules: runtime_bridge/rank_order.h.
std::string why_not_ours(const ScheduleKind& kind) {
  if (kind.rule == RunTimeRule::kVarunaStrict) {
    return "a rank cannot wait for whichever of two messages comes first";
  }
  if (kind.has_slices) return "sequences are not cut into slices";
  return "";
}

}  // namespace

ExecutorModel executor_of(Trainer trainer) {
  ExecutorModel executor;
  std::string mode = "ideal";
  if (trainer == Trainer::kMegatron) {
    executor.transfer = TransferMode::kSenderBlocks;
    mode = "sender-blocks";
  }
  if (trainer == Trainer::kDeepspeed) {
    executor.transfer = TransferMode::kRendezvous;
    executor.issue = IssueOrder::kDeepSpeed;
    mode = "rendezvous";
  }
  executor.name = mode + " (as " + std::string(name_of(trainer)) + ")";
  return executor;
}

std::string why_not_run(Trainer trainer, const ScheduleKind& kind) {
  switch (trainer) {
    case Trainer::kPenstock:
      return why_not_ours(kind);
    case Trainer::kMegatron:
      return kind.name == "1f1b" || kind.name == "interleaved" ? ""
                                                               : "it has 1f1b and interleaved only";
    case Trainer::kDeepspeed:
      return kind.name == "1f1b" ? "" : "its pipeline engine has 1f1b only";
    default:
      return why_not_a_csv(kind);
  }
}

std::string why_not_run(Trainer trainer, const ScheduleKind& kind, const Plan& plan) {
  if (std::string why = why_not_run(trainer, kind); !why.empty()) return why;
  if (is_torchtitan(trainer) && kind.splits_backward() && plan.recompute != "none") {
    return "it would recompute twice, for I and for W (its issue 773)";
  }
  return why_not_run(trainer, plan);
}

}  // namespace penstock
