// What some of a job's ranks hold of its state together, when others are lost.
#pragma once

#include <string>
#include <vector>

#include "training/rank_setup.h"
#include "training/rank_state.h"

namespace penstock {

// Empty when `ranks` hold all of it; else what is missing and who alone had it. `holdings`:
// rank_holdings() of the plan; `state`: any rank's.
std::string missing_from(const RankState& state, const std::vector<RankSetup>& holdings,
                         const std::vector<int>& ranks);

// The states of one rank as if `ranks` (ascending, it is one of them) were all that there are: what
// all holders have is divided among those.
std::vector<SectionState> shared_among(std::vector<SectionState> states, const RankState& state,
                                       const std::vector<RankSetup>& holdings,
                                       const std::vector<int>& ranks);

}  // namespace penstock
