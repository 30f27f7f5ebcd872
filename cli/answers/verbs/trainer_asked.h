// The trainer that a command is about, in whatever words: "--format deepspeed", "--to
// ds_config.json", "-o train_config.toml", or the one that the plan at hand is for.
#pragma once

#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

// "ds_config.json" is DeepSpeed's, "train_config.toml" torchtitan's; empty of other files.
std::string trainer_of_file(std::string_view name);
// "sbatch", "slurm": what a job is started by, which no trainer is.
bool starts_jobs(std::string_view word);

// One that export writes a job for; of a plan that is there its own; empty where nothing says one.
std::string trainer_asked(const Arguments& words);

// "penstock export plan.json --to deepspeed -o job" with the folder that was typed, of such words
// as it takes.
std::string command_of_export(const std::string& plan, const std::string& trainer,
                              const Arguments& words);

}  // namespace penstock
