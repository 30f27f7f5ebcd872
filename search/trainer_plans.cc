#include "search/trainer_plans.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "search/in_parallel.h"

namespace penstock {
namespace {

// Other cuts may ask for other sections that recompute.
constexpr int kMostMoves = 2;

struct Moved {
  std::optional<Found> found;
  std::string why_not;
};

Moved moved(Trainer trainer, const PlanInputs& inputs, const Found& found,
            const std::vector<std::string>& sections) {
  const std::string name(name_of(trainer));
  Plan plan = found.plan;
  bool is_other = false;
  for (int moves = 0; moves <= kMostMoves; ++moves) {
    TrainerVerdict verdict = verdict_of(trainer, plan, sections);
    if (verdict.why_not.empty()) {
      if (!is_other) return {found, ""};
      const EvaluatedPlan evaluated = evaluate(inputs, plan);
      if (evaluated.why_not) {
        return {{}, name + ": does not fit with the cuts that it can take"};
      }
      return {Found{plan, evaluated.evaluation.step_time, evaluated.evaluation.peak_memory()}, ""};
    }
    if (!verdict.nearest) return {{}, name + ": " + verdict.why_not};
    plan = std::move(*verdict.nearest);
    is_other = true;
  }
  return {{}, name + ": no such plan is near"};
}

}  // namespace

std::vector<Found> plans_for(Trainer trainer, const PlanInputs& inputs,
                             const std::vector<Found>& found, int threads, Rejections& rejected) {
  std::vector<std::string> sections;
  for (const Section& section : inputs.profile->sections) sections.push_back(section.name);
  std::vector<Moved> all(found.size());
  in_parallel(threads, found.size(),
              [&](std::size_t i) { all[i] = moved(trainer, inputs, found[i], sections); });
  std::vector<Found> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::optional<Found>& one = all[i].found;
    if (!one) {
      rejected.add(all[i].why_not, 1, found[i].plan);
      continue;
    }
    const bool known = std::any_of(kept.begin(), kept.end(),
                                   [&](const Found& other) { return other.plan == one->plan; });
    if (!known) kept.push_back(std::move(*one));
  }
  return kept;
}

}  // namespace penstock
