// What an automatic schedule weighs: one entry per stage (boundary vectors: one less).
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/stage_prices.h"
#include "core/values/units.h"

namespace penstock {

// What a schedule is to be short in: the longest (last end - first start) of a rank, or the last
// end of all.
enum class Shortest { kSpan, kMakespan };

struct StageCosts {
  std::vector<Duration> forward, input_gradient, weight_gradient;
  // Transfers over boundary s -> s + 1 and back; zero on one rank.
  std::vector<Duration> activation, gradient;
  // Memory that F takes, and that I and W give back (both >= 0; taken = sum of what is given back).
  std::vector<std::int64_t> taken_by_forward, freed_by_input_gradient, freed_by_weight_gradient;
  // Per rank, same unit. zb-1p and zb-2p do not read it; zb-v-auto has a default where it is empty.
  std::vector<std::int64_t> limit;
  Shortest shortest = Shortest::kSpan;  // zb-auto and zb-v-auto; zb-1p and zb-2p go by the span
  // Lists that take as long are of no use: none need be made if all do.
  Duration to_beat = Duration::max();
  bool operator==(const StageCosts&) const = default;
};

// Of the first shape of micro-batch, with the executor's fixed costs; nothing is sent between
// stages of one rank. F takes the stash, W gives back its part of it and I the rest. `recomputes`:
// an R runs right before every I, as lower() puts it. The limits are left to the caller. What is
// to be short is what the executor's step is: the makespan before a barrier, else the span.
StageCosts stage_costs(const StagePrices& prices, const std::vector<int>& rank_of_stage,
                       const ExecutorModel& executor, bool recomputes);

}  // namespace penstock
