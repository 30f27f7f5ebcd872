#include "search/other_cuts.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "search/arranged_replay.h"
#include "search/choose_cuts.h"
#include "search/improve_cuts.h"

namespace penstock {
namespace {

// All cuts are tried where they are so few, and their stages times micro-batches sum to no more.
constexpr std::int64_t kFewCuts = 1024, kMostArranged = std::int64_t{1} << 18;
// Else so many replays, of which an arrangement counts as several.
constexpr int kReplays = 2000;

bool are_few(int sections, int stages, std::int64_t size_of_each) {
  std::int64_t ways = 1;
  for (int cut = 1; cut < stages; ++cut) {
    ways = ways * (sections - cut) / cut;  // whole at every step
    if (ways > kFewCuts || ways * size_of_each > kMostArranged) return false;
  }
  return true;
}

OtherCuts best_of_all(const PlanInputs& inputs, Plan plan, int sections) {
  std::optional<Found> best;
  plan.cuts = first_cuts(sections, plan.stages_per_copy());
  do {
    const ArrangedOutcome outcome = replay_arranged(inputs, plan);
    if (outcome.why_not) continue;
    if (!best || comes_before(outcome.found, *best)) best = outcome.found;
  } while (next_cuts(plan.cuts));
  return {best ? best->plan.cuts : std::vector<int>{}, true};
}

}  // namespace

OtherCuts other_cuts(const PlanInputs& inputs, const Plan& plan) {
  if (plan.stages_per_copy() == 1) return {{}, true};
  if (plan.has_unequal_replicas()) return {};  // replayed kind by kind, by evaluate() alone
  const int sections = static_cast<int>(inputs.profile->sections.size());
  const std::int64_t size = std::int64_t{plan.stages()} * replica_loads(plan).front().micro_batches;
  if (are_few(sections, plan.stages_per_copy(), size)) return best_of_all(inputs, plan, sections);
  CutBudget budget;
  budget.replays = kReplays;
  auto found = improve_cuts(inputs, plan, budget);
  return {found ? std::move(found->plan.cuts) : std::vector<int>{}, false};
}

}  // namespace penstock
