// The schedules of a plan that are arranged from its prices and the memory that they leave.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "core/values/stage_prices.h"
#include "search/plan_program.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

struct ArrangedSchedules {
  PlanSchedules schedules;
  std::string why_not;     // nothing fits: the reason
  bool is_beaten = false;  // nothing shorter than what is to be beaten: no schedules
};

// For an automatic schedule. `limit`: bytes that every rank has for activations.
// `slower_transfers`: it is arranged as if transfers took so many times as long. `to_beat`: of its
// compute and transfers (StageCosts).
ArrangedSchedules arrange_schedules(const Plan& plan, const StagePrices& prices,
                                    const ExecutorModel& executor,
                                    const std::vector<std::int64_t>& limit,
                                    int slower_transfers = 1, Duration to_beat = Duration::max());

// The same with lists that local search has made shorter, within the same limit (shorten_lists.h).
ArrangedSchedules shortened(const ArrangedSchedules& arranged, const Plan& plan,
                            const StagePrices& prices, const ExecutorModel& executor,
                            const std::vector<std::int64_t>& limit);

// What is left for activations on every rank once parameters, gradients, optimizer state, working
// memory, a few buffers and the reserve are there.
std::vector<std::int64_t> room_for_activations(const Plan& plan, const StagePrices& prices,
                                               const PerRank<Bytes>& reserve,
                                               const PerRank<Bytes>& capacity);

// A static schedule of the same placement: its cuts and its liveness serve until the automatic one
// is arranged, and the search looks for plans worth arranging with it.
std::string_view stand_in_of(const ScheduleKind& kind);
Plan with_stand_in(Plan plan);

}  // namespace penstock
