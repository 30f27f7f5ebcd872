#include "search/local_moves.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr int kMostRounds = 8;

int busiest_rank(const Evaluation& evaluation) {
  int busiest = 0;
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    const auto& most = evaluation.ranks[static_cast<std::size_t>(busiest)].time.busy;
    if (evaluation.ranks[r].time.busy > most) busiest = static_cast<int>(r);
  }
  return busiest;
}

// The cut moved by one section, if both stages keep at least one.
bool move_cut(std::vector<int>& cuts, std::size_t cut, int step) {
  cuts[cut] += step;
  return cuts[cut] > cuts[cut - 1] && cuts[cut] < cuts[cut + 1];
}

}  // namespace

Plan improve_by_local_moves(const PlanInputs& inputs, const Plan& plan) {
  EvaluatedPlan best = evaluate(inputs, plan);
  for (int round = 0; round < kMostRounds && !best.why_not; ++round) {
    const EvaluatedPlan start = best;
    const int rank = busiest_rank(start.evaluation);
    for (const int held : plan.stages_of_rank(rank)) {
      const int stage = held % plan.stages_per_copy();
      // Give the stage's first section to the one before it, or its last to the one behind it.
      for (const auto& [cut, step] : {std::pair{stage, +1}, std::pair{stage + 1, -1}}) {
        if (cut == 0 || cut == plan.stages_per_copy()) continue;
        Plan moved = start.plan;
        if (!move_cut(moved.cuts, static_cast<std::size_t>(cut), step)) continue;
        EvaluatedPlan tried = evaluate(inputs, moved);
        if (!tried.why_not && tried.evaluation.step_time < best.evaluation.step_time) {
          best = std::move(tried);
        }
      }
    }
    if (best.plan == start.plan) break;
  }
  return best.plan;
}

}  // namespace penstock
