// What an action takes and moves: the only decoder of StagePrices, by the rows of action_rules.h.
// A replay lays the durations out beforehand (simulator/price_table.h); a virtual rank, a report
// or a schedule asks for one. The checker of plan files has its own, since it judges these.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "core/values/action_rules.h"
#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"

namespace penstock {

// The times of a micro-batch on a stage, for what treats them all alike.
using ComputeTime = Price ComputePrice::*;
inline constexpr std::array<ComputeTime, 5> kComputeTimes{
    &ComputePrice::forward, &ComputePrice::input_gradient, &ComputePrice::weight_gradient,
    &ComputePrice::fused_backward, &ComputePrice::recompute};

// Where the price of an action stands: its stage, counted in its pipeline, and the shape of its
// micro-batch (0 without one).
struct PricedPlace {
  int stage = 0;
  int shape = 0;
  int copies = 1;  // Pipeline::copies
};

[[nodiscard]] PricedPlace priced_place(const Program& program, const Action& action);

// What the executor adds to every execution of a kind.
[[nodiscard]] inline Duration fixed_cost(const ExecutorModel& executor, ActionKind kind) {
  const auto fixed = rule_of(kind).price.fixed;
  return fixed == nullptr ? Duration{} : executor.*fixed;
}

// Of tied weights, by the name of their group; Error{kBadInput} when they have none.
[[nodiscard]] Duration duration_of_tie(const StagePrices& prices, const ExecutorModel& executor,
                                       const std::string& group);

// The copies of a stage reduce and gather together, which lasts until the slowest of them is done.
[[nodiscard]] inline Duration longest_of_copies(const StagePrices& prices, PricedPlace place,
                                                Price StepPrice::*price) {
  const int per_copy = prices.stages / place.copies;
  Duration longest{};
  for (int stage = place.stage % per_copy; stage < prices.stages; stage += per_copy) {
    longest = std::max(longest, (prices.step[static_cast<std::size_t>(stage)].*price).duration);
  }
  return longest;
}

// Without what the executor adds. Receives end when their sends do and take nothing; a tie's
// duration goes by its name (duration_of_tie). A boundary that there is not takes nothing.
[[nodiscard]] inline Duration price_alone(const StagePrices& prices, ActionKind kind,
                                          PricedPlace place) {
  const PriceRule& rule = rule_of(kind).price;
  switch (rule.table) {
    case PriceTableOf::kMicroBatch:
      return (prices.compute_of(place.stage, place.shape).*rule.of_micro_batch).duration;
    case PriceTableOf::kBoundaryBehind:
      return (prices.transfer_of(place.stage, place.shape).*rule.of_boundary).duration;
    case PriceTableOf::kBoundaryBefore:
      if (place.stage == 0) return {};
      return (prices.transfer_of(place.stage - 1, place.shape).*rule.of_boundary).duration;
    case PriceTableOf::kStage:
      return (prices.step[static_cast<std::size_t>(place.stage)].*rule.of_stage).duration;
    case PriceTableOf::kAllCopies:
      return longest_of_copies(prices, place, rule.of_stage);
    case PriceTableOf::kJob:
      return prices.norm.duration;
    case PriceTableOf::kTie:
    case PriceTableOf::kNothing:
      break;
  }
  return {};
}

[[nodiscard]] inline Duration duration_of(const StagePrices& prices, const ExecutorModel& executor,
                                          ActionKind kind, PricedPlace place) {
  return price_alone(prices, kind, place) + fixed_cost(executor, kind);
}

// What OVERLAP(F;B) of the forward of this place saves.
[[nodiscard]] inline Duration gain_of_overlap(const StagePrices& prices, PricedPlace place) {
  return prices.compute_of(place.stage, place.shape).overlap_gain;
}

// Whether any stage has something to recompute: a mode may leave all of them without.
[[nodiscard]] bool takes_recompute_time(const StagePrices& prices);

// Both members of OVERLAP(F;B) together.
[[nodiscard]] inline Duration overlapped(Duration forward, Duration backward, Duration gain) {
  return std::max({forward, backward, forward + backward - gain});
}

// What a send or a collective moves; 0 of anything else and of tied weights.
[[nodiscard]] Bytes payload_of(const StagePrices& prices, ActionKind kind, PricedPlace place);

// The stash (0 or less when it is freed) that an action of the place takes: what its row holds.
[[nodiscard]] inline Bytes stash_change(const StagePrices& prices, ActionKind kind,
                                        PricedPlace place) {
  const Holds& holds = rule_of(kind).holds;
  if (holds.stash == 0 && holds.weight_stash == 0) return {};
  const ComputePrice& price = prices.compute_of(place.stage, place.shape);
  return Bytes{holds.stash * price.stash.count + holds.weight_stash * price.weight_stash.count};
}

}  // namespace penstock
