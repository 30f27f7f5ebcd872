// How long every action takes in one execution of a Program: the seam at which jitter, stragglers
// and other prices enter a simulation by events.
#pragma once

#include <vector>

#include "core/values/executor_model.h"
#include "core/values/ids.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/units.h"

namespace penstock {

// Per action of a Program. A transfer's is that of its send, receives take none; a collective's and
// an OVERLAP's is that of its first member.
using ActionDurations = std::vector<Duration>;

// Per action: what a send carries, from every device of its rank; zero for all others.
using TransferBytes = std::vector<Bytes>;

// As priced, the executor's fixed costs included. Error{kBadInput} as of simulate().
ActionDurations action_durations(const Program& program, const StagePrices& prices,
                                 const ExecutorModel& executor);

TransferBytes transfer_bytes(const Program& program, const StagePrices& prices);

// A rank that computes `factor` times as long: its compute actions, rounded up.
void slow_down(ActionDurations& durations, const Program& program, RankId rank, double factor);

}  // namespace penstock
