// A step time that no replay of a plan can beat: what lets the search skip replays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/stage_prices.h"
#include "search/recompute_as_needed.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"

namespace penstock {

// By compute alone, before transfers and reductions are priced; `held` may be empty.
Duration compute_bound(const RankSums& sums, const Plan& plan, BackwardKind backward,
                       const HeldCounts& held, const ExecutorModel& executor);

// The same of a plan in which some sections recompute, by its division.
Duration compute_bound(const RecomputeSums& sums, const Plan& divided, BackwardKind backward,
                       const HeldCounts& held, const ExecutorModel& executor);

// By everything that is priced. Sound for every executor model; with a schedule whose last rank
// recomputes nothing (Varuna's) only if that is said, and not where a recompute may run while its
// gradient is on the way (varuna-runtime). `room`: bytes that every rank has for activations, at
// most that, whatever the order; empty: any number.
Duration step_bound(const StagePrices& prices, const Plan& plan, BackwardKind backward,
                    const HeldCounts& held, const ExecutorModel& executor,
                    bool last_rank_keeps = false, std::span<const std::int64_t> room = {});

// What lies behind the last action of every rank's compute at least, the step's fixed costs among
// it.
Duration least_behind_compute(const StagePrices& prices, const Plan& plan,
                              const ExecutorModel& executor);

}  // namespace penstock
