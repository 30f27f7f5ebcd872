#include "search/trainers.h"

#include <algorithm>
#include <vector>

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

std::string why_not_run(const Trainer& trainer, const ScheduleKind& kind) {
  const std::vector<std::string>& known = trainer.schedule_names;
  switch (trainer.schedules) {
    case TrainerSchedules::kOwnRuntime:
      return why_not_ours(kind);
    case TrainerSchedules::kStaticCsv:
      return why_not_a_csv(kind);
    case TrainerSchedules::kNamed:
      break;
  }
  const bool is_known = std::find(known.begin(), known.end(), kind.name) != known.end();
  return is_known ? "" : trainer.why_no_other_schedule;
}

std::string why_not_run(const Trainer& trainer, const ScheduleKind& kind, const Plan& plan) {
  if (std::string why = why_not_run(trainer, kind); !why.empty()) return why;
  const bool recomputes_twice = kind.splits_backward() && plan.recompute != "none";
  if (recomputes_twice && !trainer.why_no_divided_backward.empty()) {
    return trainer.why_no_divided_backward;
  }
  return why_not_run(trainer, plan);
}

}  // namespace penstock
