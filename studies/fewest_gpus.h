// When nothing fits: how many GPUs it takes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "search/question.h"

namespace penstock {

// The same question of so many GPUs: an assumed cluster grows with them.
using AskedOf = std::function<Question(int gpus)>;

// One sentence: the fewest GPUs (of those tried: 1, 2, 4, .. and whole nodes) on which a plan fits,
// and that plan; or that none does on the most that were tried. Tried with what needs least memory,
// one sample a micro-batch and full recompute, where these are not pinned. Empty when `question`
// was about all GPUs that there are, and when `progress` says to stop. `types`: of devices that the
// question counts each for itself; the sentence says how many of each to ask for.
std::string fewest_gpus_text(const Question& question, const AskedOf& asked_of,
                             SearchProgress& progress, const std::vector<std::string>& types = {});

}  // namespace penstock
