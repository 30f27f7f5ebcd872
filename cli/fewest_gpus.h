// When nothing fits: how many GPUs it takes.
#pragma once

#include <string>

#include "cli/options/search_options.h"

namespace penstock {

// One sentence: the fewest GPUs (of those tried: 1, 2, 4, .. and whole nodes) on which a plan fits,
// and that plan; or that none does on the most that were tried. Tried with what needs least memory,
// one sample a micro-batch and full recompute, where these are not pinned. Empty when `question`
// (which `options` ask) was about all GPUs that there are, and when `progress` says to stop.
std::string fewest_gpus_text(const SearchOptions& options, const Question& question,
                             SearchProgress& progress);

}  // namespace penstock
