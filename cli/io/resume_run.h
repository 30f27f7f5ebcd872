// How `penstock train` goes on from the newest checkpoint of a folder.
#pragma once

#include <functional>
#include <string>

#include "cli/options/train_settings.h"
#include "core/values/run_log.h"
#include "runtime_bridge/torch/train_rank.h"

namespace penstock {

// A folder that holds nothing yet. One whose checkpoints cannot be read is no beginning.
bool is_to_begin(const TrainOptions& options);

// What was not given of the optimizer's numbers and the seed is as in the checkpoint; what was
// given and differs is said by `note`, or refused.
void resume(TrainJob& job, const TrainSettings& settings,
            const std::function<void(const std::string&)>& note);

// The last step before an emergency checkpoint, TrainJob::kept_step: nobody lived to say how long
// it took.
MeasuredStep kept_step_of(const TrainJob& job);

}  // namespace penstock
