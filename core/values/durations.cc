#include "core/values/durations.h"

#include "core/values/error.h"

namespace penstock {

PricedPlace priced_place(const Program& program, const Action& action) {
  const auto pipeline = static_cast<std::size_t>(program.stages[action.stage.value].pipeline);
  const Pipeline& owner = program.pipelines[pipeline];
  PricedPlace place;
  place.stage = action.stage.value - owner.first_stage;
  if (action.micro_batch != kNoMicroBatch) {
    place.shape = program.micro_batches[action.micro_batch.value].shape;
  }
  place.copies = owner.copies;
  return place;
}

Duration duration_of_tie(const StagePrices& prices, const ExecutorModel& executor,
                         const std::string& group) {
  for (const TiedPrice& price : prices.tied_reduce) {
    if (tied_group_name(price.name) != group) continue;
    return price.reduce.duration + fixed_cost(executor, ActionKind::kTiedReduce);
  }
  throw_bad_input("prices: no tied_reduce price for group " + group);
}

bool takes_recompute_time(const StagePrices& prices) {
  return std::any_of(prices.compute.begin(), prices.compute.end(), [](const ComputePrice& price) {
    return price.recompute.duration > Duration{};
  });
}

Bytes payload_of(const StagePrices& prices, ActionKind kind, PricedPlace place) {
  const PriceRule& rule = rule_of(kind).price;
  if (rule.moves != nullptr) {
    return prices.step[static_cast<std::size_t>(place.stage)].*rule.moves;
  }
  // The boundary between two stages is that of the first of them.
  if (rule.table == PriceTableOf::kBoundaryBehind) {
    return prices.compute_of(place.stage, place.shape).boundary;
  }
  if (rule.table == PriceTableOf::kBoundaryBefore && place.stage > 0) {
    return prices.compute_of(place.stage - 1, place.shape).boundary;
  }
  return {};
}

}  // namespace penstock
