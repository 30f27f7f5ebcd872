// What liveness and its lower bound both say of a rank: its stages, and what they send and receive.
#pragma once

#include <cstddef>
#include <vector>

#include "core/schedule.h"
#include "simulator/liveness.h"
#include "simulator/waiting_receives.h"

namespace penstock {

// Gives every rank its stages; returns which chunk of its rank each stage is.
std::vector<std::size_t> give_stages(const std::vector<int>& rank_of_stage,
                                     std::vector<RankLiveness>& ranks);

// Sets the receives that wait, and who sends at all.
void note_transfers(const Schedule& schedule, const WaitingReceives& waiting,
                    std::vector<RankLiveness>& ranks);

}  // namespace penstock
