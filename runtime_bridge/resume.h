// What a run and the checkpoint that it goes on from must have in common. Another layout computes
// the same; another seed, say, would go on with other samples and tell nobody: such a change is
// refused, unless it was asked for by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/plan_file.h"
#include "runtime_bridge/checkpoint_manifest.h"
#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/train_options.h"

namespace penstock {

// What a checkpoint of this run says of it, but for `step`, `samples` and `shared_numbers`.
CheckpointInfo checkpoint_info(const PlanFile& plan, const std::string& plan_hash,
                               const TrainOptions& options, const CheckpointData& data);

// The names that TrainOptions::may_change takes: "data", "seed", "precision", ...
const std::vector<std::string>& changeable_settings();

// `here`: checkpoint_info() of the run that is to go on. Returns what the person who waits should
// know: what differs and was asked for, a line each. Of the optimizer's numbers every change counts
// as asked for, since options that were not given are those of the checkpoint.
//
// Error{kBadInput} for every other difference: file, value there, value here, what to do; of
// another model always.
std::vector<std::string> check_resumed(const Checkpoint& checkpoint, const CheckpointInfo& here,
                                       const std::vector<std::string>& may_change);

}  // namespace penstock
