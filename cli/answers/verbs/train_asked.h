// What is asked of `train` by people who launch trainers: of a plan whose model it cannot build,
// or with the options of torchrun.
#pragma once

#include <string>

#include "cli/answers/commands/given_options.h"
#include "cli/io/answer.h"

namespace penstock {

// The message behind the reason why `train` runs no such plan at all, and what does; as it is
// where the plan that was typed can be trained. No option mends that, so that it is said first.
std::string with_untrainable_plan(std::string message, const Arguments& typed);

// "train plan.json --nproc-per-node 8 --master-addr node0 --master-port 29500": torchrun takes
// them, and starts the ranks of the plan.
void refuse_launcher_options(const std::string& verb, const Arguments& words,
                             const GivenWords& given);

// "launch train.py --num_processes 8": of a trainer's launch file what judges it, of a script of
// one's own how it gets a layout. `words`: behind the verb, a script among them.
std::string help_for_started_script(const Arguments& words);

}  // namespace penstock
