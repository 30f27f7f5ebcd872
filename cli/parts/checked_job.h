// The job that `penstock train` runs, after everything that can be known to be wrong beforehand has
// been refused; and where its steps take their plans from, if they train on documents.
#pragma once

#include <memory>

#include "cli/parts/document_plans.h"
#include "cli/parts/train_request.h"
#include "runtime_bridge/plans_ahead.h"
#include "runtime_bridge/stored_plans.h"
#include "runtime_bridge/torch/train_rank.h"

namespace penstock {

// Null where nothing is trained on documents.
std::unique_ptr<DocumentPlans> plans_of(const TrainRequest& request);

// Refuses once: in the launcher if there is one, else on rank 0. `plans`: of documents, or null.
TrainJob checked_job(const TrainRequest& request, const DocumentPlans* plans);

// The side of a rank of the store that plans come from; null where they are made here.
// `announces`: tells the planner of the job, as one process does.
std::shared_ptr<StoredPlans> stored_plans(const TrainRequest& request, const TrainJob& job,
                                          const DocumentPlans& plans, bool announces);

// `stored`: where plans come from a store.
std::shared_ptr<PlansAhead> plans_ahead(const TrainRequest& request, const TrainJob& job,
                                        const DocumentPlans& plans,
                                        const std::shared_ptr<StoredPlans>& stored);

}  // namespace penstock
