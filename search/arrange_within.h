// An automatic schedule within the memory that the rest of a plan leaves: buffers are known only
// once it is arranged, so that a second try may need to hold less. Lists that are made for slower
// transfers than there are hold a micro-batch more in flight; small plans try those, too, and their
// replays decide.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/plan_file.h"
#include "search/arrange.h"
#include "search/evaluate.h"
#include "search/plan_program.h"
#include "simulator/simulate.h"

namespace penstock {

struct ArrangedWithin {
  ArrangedSchedules arranged;        // of the last try; of several that fit the fastest
  std::optional<Rejection> why_not;  // no arrangement, or still over memory
  Bytes fullest;                     // rank
};

// `slowest`: what steps take longer than that is of no use (arranged.is_beaten). Large plans stop
// at lists that are a 32nd longer. That is a heuristic: lists in less room, which are made where
// buffers turn out to need it, are shorter in about 2 % of random cases, by up to 2.1 %.
ArrangedWithin arrange_within(const PlanInputs& inputs, const Plan& plan, const StagePrices& prices,
                              const std::vector<PlanTie>& ties, bool recomputes,
                              const PerRank<Bytes>& reserve, const PerRank<Bytes>& capacity,
                              Duration slowest = Duration::max());

// Its replay; nothing when its transfers deadlock.
std::optional<TimelineSummary> summary_of(const ArrangedSchedules& arranged,
                                          const LoweringOptions& options, const StagePrices& prices,
                                          const ExecutorModel& executor);

// Whether every rank has room for one micro-batch's activations on each of its stages by itself: no
// order of its actions needs less.
bool holds_one_of_each(const Plan& plan, const StagePrices& prices,
                       const std::vector<std::int64_t>& room);

// The largest number of micro-batches whose activations a rank's first stage can hold in such room,
// as what a static schedule holds: for bounds on anything that is arranged.
HeldCounts most_held_within(const Plan& plan, const StagePrices& prices,
                            const std::vector<std::int64_t>& room);

}  // namespace penstock
