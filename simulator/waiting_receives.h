// How many receives wait at once for each stage of a schedule: what its buffers must hold.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/schedule.h"

namespace penstock {

// The most that are posted and not yet consumed, by stage; 0 where nothing is received.
struct WaitingReceives {
  std::vector<std::int32_t> activations, gradients;
};

// Of the Program that eager lowering would make of the schedule, without making it.
WaitingReceives waiting_receives(const Schedule& schedule);

}  // namespace penstock
