// The parts that the profile of a plan's question names, summed up over the stages of one rank.
#pragma once

#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "report/work_terms.h"

namespace penstock {

// Scaled to the prices of the plan file; what is in them beyond the parts are the collectives of
// tensor parallelism. Empty when a section of the rank does not say what it is made of.
WorkTerms work_terms(const ModelProfile& profile, const PlanFile& file, int rank);

}  // namespace penstock
