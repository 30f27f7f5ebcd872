// Where the length of a rolled-up step comes from: the chain of steps, each bound by the one
// before, that ends with the step's last action. A step is the longest of its chains; so with
// other times of the stages it takes at least as long as this chain then does.
#pragma once

#include <vector>

#include "core/values/units.h"
#include "simulator/rolled_attribution.h"
#include "simulator/rolled_timeline.h"

namespace penstock {

// What the compute of every stage takes of the chain, by the number of the stage in its pipeline.
// In a time that does not grow with the micro-batches a jump went over.
std::vector<Duration> time_on_chain(const std::vector<RolledTimeline>& pipelines,
                                    const StepEnd& step_end);

}  // namespace penstock
