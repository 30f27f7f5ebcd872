// Timeline + prices + liveness -> Evaluation: what evaluate(), the search and a replayed plan file
// share.
#pragma once

#include <optional>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"
#include "simulator/analyze.h"
#include "simulator/liveness.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

// What a step takes: the makespan, or the longest span when nothing stands between a rank's
// optimizer and its next step.
Duration step_time_of(const TimelineSummary& summary, const ExecutorModel& executor);

// Of all devices; 0 when the price of one type is unknown.
double usd_per_step(Duration step_time, const Plan& plan, const PerRank<double>& usd_per_hour);

// The ranks that an evaluation lists: those of one replica, or of one of every unequal kind, which
// the Program has as its first pipelines.
struct ListedRanks {
  int kinds = 1;
  PerRank<ShapeRange> shapes = ShapeRange{};  // of the rank's micro-batches; empty: all
  // The batch is not even: the memory of its micro-batches is summed up one by one.
  bool by_pools = false;
};
ListedRanks listed_ranks(const Plan& plan);

// What the parts below are made of.
struct Judged {
  TimelineSummary summary;
  std::vector<RankTime> times;     // attribute_idle()
  std::vector<RankLiveness> held;  // liveness()
  // Of micro-batches of several shapes, replica by replica: peak_stash_bytes().
  std::vector<Bytes> stash{};
  std::int64_t replayed = 0;  // actions that were carried out one by one to tell this
};
// Judged::stash.
std::vector<Bytes> stash_of(const std::vector<RolledInput>& pipelines, const StagePrices& prices);
// Sets that of the ranks that are listed: of replicas that are alike the one that holds most
// counts.
void set_stash(const std::vector<Bytes>& stash, std::vector<MemoryUse>& listed);

// Everything but the assumptions. `interval`: of the step time, relative to it.
Evaluation evaluation_of(const Judged& judged, const StagePrices& prices,
                         const ExecutorModel& executor, const PerRank<Bytes>& capacity,
                         const PerRank<Bytes>& reserve, const ErrorBand& interval,
                         const ListedRanks& listed = {});

// The same of a Program that was replayed.
Evaluation evaluation_of(const Program& program, const StagePrices& prices,
                         const Timeline& timeline, const ExecutorModel& executor,
                         const PerRank<Bytes>& capacity, const PerRank<Bytes>& reserve,
                         const ErrorBand& interval, const ListedRanks& listed = {});

// As of totals (choose_cuts.h).
std::optional<Rejection> over_memory(const std::vector<MemoryUse>& ranks, const Plan& plan,
                                     const PerRank<Bytes>& capacity);

}  // namespace penstock
