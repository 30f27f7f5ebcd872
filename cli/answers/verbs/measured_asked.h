// A run that was measured, told to a verb that takes no such thing or by another name: "calibrate
// config.json --tp 4 --measured 11.3s", "plan ... --observed-step-time 11.3", "calibrate train.log
// --plan plan.json".
#pragma once

#include <string>

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// "TP=4 PP=4 DP=8 mbs=1 gbs=512" of the degrees and batches that were typed to a search; empty
// where no degree was.
std::string layout_typed(const Arguments& words);

// Error{kBadInput} of such words behind the verb of the table, with the whole command that takes
// them.
void refuse_measured_elsewhere(const OptionTable& table, const Arguments& words);

}  // namespace penstock
