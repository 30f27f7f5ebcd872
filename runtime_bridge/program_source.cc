#include "runtime_bridge/program_source.h"

#include <utility>

namespace penstock {

OnePlan::OnePlan(std::shared_ptr<const PlanFile> plan) : plan_(std::move(plan)) {}

PlanForSteps OnePlan::plan_from(std::int64_t /*step*/) { return {plan_, kNeverEnds}; }

}  // namespace penstock
