// What a plan was made from, read again for the search of the nearest plan that a trainer can run.
#pragma once

#include "search/question.h"
#include "trainers/exports/export_plan.h"

namespace penstock {

// Of a plan that rests on an estimate no question, but the command that asks for another plan.
PlanQuestion asked_again(const PlanFile& plan, const TrainerRow& target,
                         const ExportRequest& request);

}  // namespace penstock
