#include "search/cut_forms.h"

#include <utility>

namespace penstock {

CutForms::CutForms(const PlanInputs& inputs, const Plan& plan, RecomputeRule rule,
                   std::vector<std::string> modes)
    : inputs_(inputs), rule_(rule), given_(inputs, plan, rule) {
  const bool may_be_divided = !given_.why_not() && plan.recompute == "none" &&
                              can_divide_recompute(*given_.prepared().kind);
  if (may_be_divided) modes_ = std::move(modes);
}

std::optional<CutForms::Result> CutForms::run(const std::vector<int>& cuts, CutReplay::Tells tells,
                                              Duration slowest) {
  if (const auto result = given_.run(cuts, tells, slowest)) return Result{*result, 0};
  return std::nullopt;
}

std::optional<CutForms::Result> CutForms::run_any(const std::vector<int>& cuts) {
  if (auto result = run(cuts)) return result;
  make_divided();
  std::optional<Result> best;
  for (std::size_t i = 0; i < divided_.size(); ++i) {
    const auto result = divided_[i]->run(cuts);
    if (!result || (best && best->replayed.step_time <= result->step_time)) continue;
    best = Result{*result, i + 1};
  }
  return best;
}

// Once some cuts ask for it: most plans fit with all.
void CutForms::make_divided() {
  for (const std::string& mode : std::exchange(modes_, {})) {
    Plan plan = given_.plan();
    plan.recompute = mode;
    plan.recompute_sections.assign(1, 0);  // divided anew for all cuts
    auto replay = std::make_unique<CutReplay>(inputs_, plan, rule_);
    if (replay->divides()) divided_.push_back(std::move(replay));
  }
}

}  // namespace penstock
