// Whether a trainer can take a plan over, and when it cannot the nearest plan that it can.
#pragma once

#include <optional>
#include <string>

#include "core/values/plan_file.h"
#include "search/question.h"
#include "trainers/exports/export_plan.h"

namespace penstock {

// The export, or why there is none: first by the schedules and sizes that the trainer has, then by
// what its files can say.
Export exported(const PlanFile& plan, const TrainerRow& target, const ExportRequest& request);

struct NearestPlan {
  std::optional<PlanFile> plan;  // that `exported` does not refuse
  std::string why_not;           // without one: why it was not worked out
};

// `asked`: what the plan answered. What the refusal suggests comes
// first; then the best plan on as many GPUs with the same P, T, D and b, then with fewer of these.
NearestPlan nearest_plan(const PlanFile& plan, const Export& refusal, const TrainerRow& target,
                         const ExportRequest& request, const PlanQuestion& asked);

}  // namespace penstock
