#include "search/reprice.h"

#include "costmodel/price_stages.h"
#include "search/evaluation.h"
#include "search/prepared_plan.h"
#include "search/rolled_program.h"
#include "simulator/simulate.h"

namespace penstock {

Duration repriced_step(const EvaluatedPlan& evaluated, const ModelProfile& profile,
                       const ClusterSpec& cluster, const ExecutorModel& executor) {
  const Plan& plan = evaluated.plan;
  const PlanSums sums(profile, devices_of(cluster, plan, {}), plan);
  const bool splits = find_schedule(plan.schedule)->splits_backward();
  const StagePrices prices = price_stages(profile, cluster, plan, sums.tables(), splits).prices;
  return step_time_of(
      evaluated.program.actions.empty()
          ? rolled_summary(plan, evaluated.ties, evaluated.recomputes, prices, executor)
          : simulate_summary(evaluated.program, prices, executor),
      executor);
}

}  // namespace penstock
