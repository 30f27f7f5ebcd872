// Several options that were typed as one: "--device h100-sxm,gpus=8", "--gpus '8 --global-batch
// 64'".
#pragma once

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// Error{kBadInput} with the whole command, each option apart.
void refuse_options_in_values(const OptionTable& table, const Arguments& words);

}  // namespace penstock
