// `penstock train` as a launcher: all ranks of the plan as processes of this machine, or those of
// this machine where the job has several.
#pragma once

#include <optional>

#include "cli/options/options.h"
#include "cli/options/ranks_here_settings.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/train_options.h"

namespace penstock {

struct RanksToLaunch {
  int ranks = 1;                     // of the plan
  std::optional<LaunchedPart> part;  // nothing: all of them
  Environment environment;
  Arguments arguments;  // of each rank
  std::function<bool()> is_stopped;
};

// 128 bits that nobody guesses.
std::string new_token();

// The exit code of the launcher; which rank failed, and how, is said on stderr or thrown.
int launch_ranks(const RanksToLaunch& wanted, const TrainOptions& options);

}  // namespace penstock
