// What a job on documents and its planner each say of the files that both must have.
#pragma once

#include <string>

#include "cli/parts/document_plans.h"
#include "runtime_bridge/plan_job.h"
#include "runtime_bridge/training_data.h"

namespace penstock {

// The hashes, and the version; nothing else of it.
PlanJob files_of_job(const PlanFile& layout, const DocumentPlans& plans, const TrainingData& data);

// "pid 4711 on host a"
std::string process_words();

}  // namespace penstock
