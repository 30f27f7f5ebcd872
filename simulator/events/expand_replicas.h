// A Program in which every replica stands on its own: what it takes for replicas to share links and
// for each to have its own pace.
#pragma once

#include "core/values/program.h"

namespace penstock {

// Every pipeline as often as it has replicas, in the order of the replicas of a plan. Collectives
// over replicas join all of them; tied weights are reduced in each replica by itself. Without
// jitter and contention it takes the same times. Error{kBadInput} when the replicas have more
// stages than a Program can.
Program expand_replicas(const Program& program);

}  // namespace penstock
