// A file that a verb has no place for, by what is in it or what its name says.
#pragma once

#include <string>

#include "cli/answers/words/surplus_word.h"

namespace penstock {

// "calibrate plan.json train.log", "calibrate runs.json".
std::string help_for_runs(const SurplusWord& surplus);
// "calibrate runs.json": the usage line names, outside of brackets, the option that is needed.
std::string help_for_needed(const SurplusWord& surplus);
// "export plan.json deepspeed_config.yaml", "check plan.json train.sh".
std::string help_for_script(const SurplusWord& surplus);
// "manage start job.json": a word before the only argument, as tools with subcommands have it.
std::string help_for_subcommand(const SurplusWord& surplus);
// All other files.
std::string help_for_file(const SurplusWord& surplus);

}  // namespace penstock
