// How the members of a communicator agree on its identity: one makes it, the others read it from
// the job's store.
#pragma once

#include <functional>
#include <string>

#include "core/values/units.h"
#include "training/key_value_store.h"

namespace penstock {

// As text, fit for any store. Works without a GPU.
std::string new_nccl_id();

// Asked for again and again until it is there; TransportFailure that names rank `root`, which was
// to set it, after `time_out`. `go_on` is called in between and may throw to end the wait.
std::string wait_for_nccl_id(KeyValueStore& store, const std::string& key, int root,
                             Duration time_out, const std::function<void()>& go_on);

}  // namespace penstock
