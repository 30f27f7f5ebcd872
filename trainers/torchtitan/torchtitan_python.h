// torchtitan's recipes at head: Python functions that build a Trainer.Config. Nothing of them is
// executed: keywords of ParallelismConfig(..) and TrainingConfig(..), assignments to
// config.<table>.<key>, and the recipe that a function begins with are read as they stand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/launch_setting.h"

namespace penstock {

struct TorchtitanRecipe {
  std::string name;  // of the function; empty: outside of one
  int line = 0;
  LaunchSettings settings;  // "parallelism.pipeline_parallel_degree"
};

// Sizes of a job are among its settings.
bool is_job(const TorchtitanRecipe& recipe);

// Those that set something; Error{kBadInput} for quotes and brackets that are not closed.
std::vector<TorchtitanRecipe> read_torchtitan_recipes(std::string_view text,
                                                      const std::string& file);

}  // namespace penstock
