// A cluster file in the place of the model.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// "plan cluster.json --cluster config.json", "plan cluster.json --gpus 8": Error{kBadInput} with
// the model in its place, and the cluster behind its option.
[[noreturn]] void refuse_cluster_as_model(const std::string& verb, const Arguments& arguments);

}  // namespace penstock
