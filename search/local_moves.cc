#include "search/local_moves.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "search/choose_cuts.h"
#include "search/evaluation.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "simulator/replay.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

constexpr int kMostRounds = 8;

// What the moves go by.
struct Tried {
  Duration step_time{};
  int busiest = 0;  // rank
};
// Of a plan with some cuts; nothing when it does not fit.
using TryCuts = std::function<std::optional<Tried>(const Plan&)>;

int busiest_rank(const std::vector<Duration>& busy, int ranks) {
  return static_cast<int>(std::max_element(busy.begin(), busy.begin() + ranks) - busy.begin());
}

std::optional<Tried> tried(const EvaluatedPlan& evaluated) {
  if (evaluated.why_not) return std::nullopt;
  std::vector<Duration> busy;
  busy.reserve(evaluated.evaluation.ranks.size());
  for (const RankEvaluation& rank : evaluated.evaluation.ranks) busy.push_back(rank.time.busy);
  return Tried{evaluated.evaluation.step_time, busiest_rank(busy, static_cast<int>(busy.size()))};
}

// Replays a plan of a static schedule with other cuts; whatever does not depend on them is made
// once. Outlived by the plan that was prepared.
class CutsReplay {
 public:
  CutsReplay(const PlanInputs& inputs, const PreparedPlan& prepared)
      : inputs_(inputs),
        tables_(prepared.sums.tables()),
        recomputes_(prepared.sums.recomputes()),
        capacity_(prepared.devices.memory()),
        reserve_(prepared.devices.reserve()),
        wiring_(*inputs.cluster, prepared.plan),
        liveness_(liveness_of(prepared.plan)),
        schedules_(schedules_of(prepared.plan)) {}

  std::optional<Tried> run(const Plan& plan) {
    const StagePricing pricing = price_stages(*inputs_.profile, wiring_, plan, tables_);
    const auto memory = memory_of_ranks(pricing.prices, liveness_, reserve_);
    if (over_memory(memory, plan, capacity_)) return std::nullopt;
    const TimelineSummary summary = simulate_schedule(
        schedules_.pipelines, lowering_of(plan, pricing.ties, recomputes_, inputs_.executor),
        pricing.prices, inputs_.executor, buffers_);
    return Tried{step_time_of(summary, inputs_.executor),
                 busiest_rank(summary.busy, plan.pipeline)};
  }

 private:
  const PlanInputs& inputs_;
  const RankTables tables_;
  const bool recomputes_;
  const PerRank<Bytes> capacity_, reserve_;
  const PlanWiring wiring_;
  const std::vector<RankLiveness> liveness_;
  const PlanSchedules schedules_;
  ReplayBuffers buffers_;
};

bool can_replay_cuts(const PlanInputs& inputs, const PreparedPlan& prepared) {
  return !prepared.why_not && !prepared.plan.cuts.empty() && !prepared.kind->is_automatic() &&
         prepared.kind->rule == RunTimeRule::kNone && straight_replay_is_exact(inputs.executor);
}

// The cut moved by one section, if both stages keep at least one.
bool move_cut(std::vector<int>& cuts, std::size_t cut, int step) {
  cuts[cut] += step;
  return cuts[cut] > cuts[cut - 1] && cuts[cut] < cuts[cut + 1];
}

// The best of `plan` and its neighbours; `now` is what was tried of it.
Plan best_move(const Plan& plan, const TryCuts& try_cuts, Tried& now) {
  Plan best = plan;
  const int rank = now.busiest;
  for (const int held : plan.stages_of_rank(rank)) {
    const int stage = held % plan.stages_per_copy();
    // Give the stage's first section to the one before it, or its last to the one behind it.
    for (const auto& [cut, step] : {std::pair{stage, +1}, std::pair{stage + 1, -1}}) {
      if (cut == 0 || cut == plan.stages_per_copy()) continue;
      Plan moved = plan;
      if (!move_cut(moved.cuts, static_cast<std::size_t>(cut), step)) continue;
      const auto then = try_cuts(moved);
      if (!then || then->step_time >= now.step_time) continue;
      now = *then;
      best = std::move(moved);
    }
  }
  return best;
}

struct Improved {
  Plan plan;
  std::optional<Tried> now;
};

Improved improve(Plan plan, const TryCuts& try_cuts) {
  std::optional<Tried> now = try_cuts(plan);
  for (int round = 0; round < kMostRounds && now; ++round) {
    Plan better = best_move(plan, try_cuts, *now);
    if (better == plan) break;
    plan = std::move(better);
  }
  return {std::move(plan), now};
}

// Where moves end depends on where they begin: they begin at the given cuts, and once more at equal
// ones. Of two that are as good the first.
Plan better_of_two_starts(const Plan& plan, std::size_t sections, const TryCuts& try_cuts) {
  Improved given = improve(plan, try_cuts);
  if (!given.now) return std::move(given.plan);
  Plan equal = plan;
  equal.cuts = equal_cuts(static_cast<int>(sections), plan.stages_per_copy());
  Improved other = improve(std::move(equal), try_cuts);
  const bool is_better = other.now && other.now->step_time < given.now->step_time;
  return is_better ? std::move(other.plan) : std::move(given.plan);
}

}  // namespace

Plan improve_by_local_moves(const PlanInputs& inputs, const Plan& plan) {
  const PreparedPlan prepared = prepare(inputs, plan);
  if (!can_replay_cuts(inputs, prepared)) return improve_by_evaluated_moves(inputs, plan);
  CutsReplay replay(inputs, prepared);
  return better_of_two_starts(prepared.plan, inputs.profile->sections.size(),
                              [&](const Plan& moved) { return replay.run(moved); });
}

Plan improve_by_evaluated_moves(const PlanInputs& inputs, const Plan& plan) {
  return better_of_two_starts(evaluate(inputs, plan).plan, inputs.profile->sections.size(),
                              [&](const Plan& moved) { return tried(evaluate(inputs, moved)); });
}

}  // namespace penstock
