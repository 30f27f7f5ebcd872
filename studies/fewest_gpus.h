// When nothing fits: how many GPUs it takes.
#pragma once

#include <functional>
#include <string>

#include "search/question.h"

namespace penstock {

// The same question of so many GPUs: an assumed cluster grows with them.
using AskedOf = std::function<Question(int gpus)>;

// One sentence: the fewest GPUs (of those tried: 1, 2, 4, .. and whole nodes) on which a plan fits,
// and that plan; or that none does on the most that were tried. Tried with what needs least memory,
// one sample a micro-batch and full recompute, where these are not pinned. Empty when `question`
// was about all GPUs that there are, and when `progress` says to stop.
std::string fewest_gpus_text(const Question& question, const AskedOf& asked_of,
                             SearchProgress& progress);

}  // namespace penstock
