#include "search/reprice.h"

#include "costmodel/price_stages.h"
#include "search/evaluation.h"
#include "search/prepared_plan.h"
#include "simulator/simulate.h"

namespace penstock {

Duration repriced_step(const Program& program, const Plan& plan, const ModelProfile& profile,
                       const ClusterSpec& cluster, const ExecutorModel& executor) {
  const PlanSums sums(profile, devices_of(cluster, plan, {}), plan);
  const StagePrices prices = price_stages(profile, cluster, plan, sums.tables()).prices;
  return step_time_of(simulate_summary(program, prices, executor), executor);
}

}  // namespace penstock
