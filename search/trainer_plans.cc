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

Moved moved(const Trainer& trainer, const PlanInputs& inputs, const Found& found,
            const std::vector<std::string>& sections) {
  std::string why_not;
  const std::optional<Plan> plan = as_run_by(trainer, found.plan, sections, why_not);
  if (!plan) return {{}, std::move(why_not)};
  if (*plan == found.plan) return {found, ""};
  const EvaluatedPlan evaluated = evaluate(inputs, *plan);
  if (evaluated.why_not) {
    return {{}, trainer.name + ": does not fit with the cuts that it can take"};
  }
  return {Found{*plan, evaluated.evaluation.step_time, evaluated.evaluation.peak_memory()}, ""};
}

}  // namespace

std::optional<Plan> as_run_by(const Trainer& trainer, const Plan& plan,
                              const std::vector<std::string>& sections, std::string& why_not) {
  const std::string& name = trainer.name;
  Plan now = plan;
  for (int moves = 0; moves <= kMostMoves; ++moves) {
    TrainerVerdict verdict = verdict_of(trainer, now, sections);
    if (verdict.why_not.empty()) return now;
    if (!verdict.nearest) {
      why_not = name + ": " + verdict.why_not;
      return std::nullopt;
    }
    now = std::move(*verdict.nearest);
  }
  why_not = name + ": no such plan is near";
  return std::nullopt;
}

std::vector<std::string> names_of_sections(const ModelProfile& profile) {
  std::vector<std::string> names;
  names.reserve(profile.sections.size());
  for (const Section& section : profile.sections) names.push_back(section.name);
  return names;
}

std::vector<Found> plans_for(const Trainer& trainer, const PlanInputs& inputs,
                             const std::vector<Found>& found, int threads, Rejections& rejected) {
  const std::vector<std::string> sections = names_of_sections(*inputs.profile);
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
