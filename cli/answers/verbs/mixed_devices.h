// Several device types at once, where one belongs: a cluster of them is made first, and the plan is
// made with it.
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// "plan config.json --device h100-sxm,a100-80gb --gpus 64", "--gpus h100-sxm=8,a100-80gb=8": throws
// both commands, and the one that plans for each type by itself.
void refuse_mixed_devices(const OptionTable& table, const Arguments& words);

}  // namespace penstock
