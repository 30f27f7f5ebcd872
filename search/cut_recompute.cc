#include "search/cut_recompute.h"

#include <utility>

#include "core/values/recompute_sections.h"

namespace penstock {
CutRecompute::CutRecompute(const PlanInputs& inputs, const PreparedPlan& prepared,
                           const HeldCounts& held, RecomputeRule rule)
    : prepared_(prepared), kept_plan_(*inputs.profile, prepared.devices, keeping(prepared.plan)) {
  const Plan& plan = prepared.plan;
  if (!kept_plan_.why_not().empty()) return;
  kept_tables_ = kept_plan_.tables();
  raised_.emplace(*inputs.profile, plan, prepared.sums.full_size(), kept_plan_.full_size());
  sums_.emplace(RecomputeSums{kept_plan_.full_size(), raised_->sums()});
  ties_.emplace(*inputs.profile, plan.tensor);
  memory_.emplace(sums_->kept, *ties_, ShardedState(inputs.profile->training, plan), held,
                  prepared.devices.reserve(), prepared.devices.memory());
  as_needed_.emplace(*sums_, *memory_, held, plan, prepared.kind->backward, rule);
}

bool CutRecompute::divide(Plan& plan) const {
  auto sections = as_needed_->sections(plan.cuts);
  if (!sections) return false;
  plan.recompute = prepared_.plan.recompute;
  set_recompute_sections(plan, std::move(*sections));
  return true;
}

DividedTables CutRecompute::tables_of(const Plan& plan, const RankTables& recomputed) const {
  return {recomputed, kept_tables_, plan};
}

std::vector<std::int64_t> CutRecompute::added_work(const Plan& plan) const {
  std::vector<std::int64_t> added(static_cast<std::size_t>(plan.pipeline), 0);
  for (int stage = 0; stage < plan.stages(); ++stage) {
    const int rank = plan.rank_of(stage);
    const auto& again = sums_->recomputed[rank].work_of(prepared_.kind->backward);
    const auto& kept = sums_->kept[rank].work_of(prepared_.kind->backward);
    const auto first = static_cast<std::size_t>(plan.first_section(stage));
    const std::size_t end = first + static_cast<std::size_t>(recomputed_sections_of(plan, stage));
    added[static_cast<std::size_t>(rank)] += again[end] - again[first] - kept[end] + kept[first];
  }
  return added;
}

}  // namespace penstock
