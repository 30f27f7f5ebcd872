// Settings that a trainer takes as words, model.pipeline_model_parallel_size=4, or as flags of its
// own, as the flags of another trainer that mean the same: a table of the facts names both. So the
// rules are the same. Private to trainers/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"
#include "trainers/lint/launch_script.h"

namespace penstock {

// `table`: {"model.seq_length": "--seq-length", "--num_layers": "--num-layers", ..}. Words that
// switch a setting off (False, null) are left out, and known to be so.
LaunchSettings settings_by_table(const LaunchScript& script, const Json& table);

// "--seq-length 4096" in a sentence, as the script writes it: "model.seq_length=4096".
std::string as_overrides(std::string sentence, const LaunchScript& script, const Json& table);

// Whether a text sets one of these names.
bool sets_one_of(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace penstock
