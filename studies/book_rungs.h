// What a book of plans offers to a job whose GPUs come and go.
#pragma once

#include <string>
#include <vector>

#include "core/values/plan_book.h"
#include "morphing/rungs.h"

namespace penstock {

// One rung per plan of the book, on the GPUs that it uses, of each type where its pages count
// types.
std::vector<Rung> rungs_of(const PlanBook& book);

// The same plan with other numbers of replicas, as Varuna's manager changes a job: one rung for
// every D with which it fits, on up to `gpus` GPUs.
std::vector<Rung> data_only_rungs(const PlanBook& book, const Plan& plan, int gpus);

// Of the devices that its plans use, in the order of their names.
std::vector<std::string> device_types_of(const PlanBook& book);

// What a checkpoint holds: fp32 parameters and two moments of Adam, 12 bytes a parameter.
Bytes checkpoint_bytes(const ModelProfile& profile);

}  // namespace penstock
