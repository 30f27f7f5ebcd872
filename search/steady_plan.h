// The replay of a plan of many micro-batches from Programs of few, where transfers occupy more than
// their sender: by the general engine, or, where ranks meet, of their lists (meeting_lists.h).
#pragma once

#include <optional>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"
#include "core/values/stage_prices.h"
#include "search/evaluation.h"
#include "search/program_cache.h"
#include "simulator/steady_program.h"

namespace penstock {

// All of them say nothing where the plan's own Program has to be replayed: micro-batches are few or
// not alike, its order is not the schedule's alone, or no period shows.

// What a search asks for. `programs`: where the Programs of few are kept.
struct SteadySummary {
  bool deadlocks = false;  // its transfers wait for each other, and there is no summary
  TimelineSummary summary{};
  std::int64_t replayed = 0;  // actions that were carried out one by one to tell this
};
std::optional<SteadySummary> steady_summary(const Plan& plan, const std::vector<PlanTie>& ties,
                                            bool recomputes, const StagePrices& prices,
                                            const ExecutorModel& executor, ProgramCache& programs);

// What rolled_summary() asks for.
std::optional<TimelineSummary> summary_by_few(const Plan& plan, const std::vector<PlanTie>& ties,
                                              bool recomputes, const StagePrices& prices,
                                              const ExecutorModel& executor);

// What evaluation_of() asks for.
std::optional<Judged> judged_by_few(const Plan& plan, const std::vector<PlanTie>& ties,
                                    bool recomputes, const StagePrices& prices,
                                    const ExecutorModel& executor);

}  // namespace penstock
