// What a plan may ask for that ranks cannot do. Private to runtime_bridge/.
#pragma once

#include <vector>

#include "core/values/plan_file.h"
#include "training/rank_setup.h"

namespace penstock {

// Error{kBadInput} with the reason and what to do about it. Of the plan as a whole:
void require_supported(const PlanFile& file, const ModelDescription& model,
                       const TrainingOptions& options);
// Of a model that is computed, and not only slept: weights that stay on the device, updates that
// count, and unless the data are documents, samples of one length.
void require_tensors(const PlanFile& file, bool of_documents);
// Of the list of one rank of the Program: reductions after what they reduce, once each; NORM after
// them; one OPT per stage behind it; UNSHARD after that.
void require_order(const PlanFile& file, const std::vector<Action>& list);

}  // namespace penstock
