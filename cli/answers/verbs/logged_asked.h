// A log where a file of runs or another plan's log belongs: what it says of the job that ran, and
// the commands that go on from there.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

// "calibrate train.log", "calibrate config.json --log train.log": Error{kBadInput} with the search
// that is fitted to the log's step.
void refuse_log_in_calibrate(const Arguments& words);

// "validate plan.json train.log" of a job that ran by another plan: where its log says the layout,
// `message` gets the commands that make that plan and ask again.
std::string with_plan_that_ran(std::string message, const Arguments& typed);

}  // namespace penstock
