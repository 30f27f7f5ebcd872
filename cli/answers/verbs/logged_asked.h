// A log where calibrate takes a file of runs: what it says of the run, and how several become such
// a file.
#pragma once

#include "cli/io/answer.h"

namespace penstock {

// "calibrate train.log", "calibrate config.json --log train.log": Error{kBadInput} with the search
// that is fitted to the log's step.
void refuse_log_in_calibrate(const Arguments& words);

}  // namespace penstock
