#include "report/distinct_plans.h"

#include <algorithm>

namespace penstock {
namespace {

bool are_of_one_family(const Plan& a, const Plan& b) {
  return a.tensor == b.tensor && a.other_degrees() == b.other_degrees() &&
         a.pipeline == b.pipeline && a.data == b.data && a.micro_batch_size == b.micro_batch_size &&
         a.schedule == b.schedule && a.recompute == b.recompute &&
         a.device_types() == b.device_types();
}

bool look_alike(const RankedPlan& kept, const RankedPlan& other) {
  const Duration more = other.evaluation.step_time - kept.evaluation.step_time;
  return are_of_one_family(kept.plan, other.plan) && 100 * more <= kept.evaluation.step_time;
}

}  // namespace

bool are_twins(const Plan& a, const Plan& b) {
  return are_of_one_family(a, b) && a.chunks == b.chunks &&
         a.recompute_sections.empty() == b.recompute_sections.empty() &&
         a.rank_devices == b.rank_devices && a.replica_kinds == b.replica_kinds;
}

std::vector<std::size_t> distinct_plans(const std::vector<RankedPlan>& plans, std::size_t most) {
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < plans.size() && kept.size() < most; ++i) {
    const bool known = std::any_of(kept.begin(), kept.end(), [&](std::size_t one) {
      return are_twins(plans[one].plan, plans[i].plan) || look_alike(plans[one], plans[i]);
    });
    if (!known) kept.push_back(i);
  }
  return kept;
}

}  // namespace penstock
