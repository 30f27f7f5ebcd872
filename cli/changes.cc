#include "cli/changes.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "search/evaluate.h"

namespace penstock {
namespace {

void free_transfers(PlanFile& file) {
  for (TransferPrice& price : file.prices.transfer) price = {};
  file.executor.per_transfer = Duration{};
}

void free_reductions(PlanFile& file) {
  for (StepPrice& step : file.prices.step) step.reduce_gradient = step.unshard = {};
  for (TiedPrice& price : file.prices.tied_reduce) price.reduce = {};
  file.prices.norm = {};
}

void free_optimizer(PlanFile& file) {
  for (StepPrice& step : file.prices.step) step.optimizer = {};
}

// Every stage takes the mean of all stages, kind by kind and shape by shape.
void balance(PlanFile& file) {
  StagePrices& prices = file.prices;
  const auto shapes = static_cast<std::size_t>(prices.shapes);
  constexpr std::array kTimes{&ComputePrice::forward, &ComputePrice::input_gradient,
                              &ComputePrice::weight_gradient, &ComputePrice::fused_backward,
                              &ComputePrice::recompute};
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    for (const auto time : kTimes) {
      Duration sum{};
      for (std::size_t i = shape; i < prices.compute.size(); i += shapes) {
        sum += (prices.compute[i].*time).duration;
      }
      for (std::size_t i = shape; i < prices.compute.size(); i += shapes) {
        (prices.compute[i].*time).duration = sum / prices.stages;
      }
    }
  }
}

struct Change {
  std::string_view words;
  void (*apply)(PlanFile& file);
};
constexpr std::array<Change, 4> kChanges{{
    {"transfers took no time", free_transfers},
    {"reductions, norm and gathers took no time", free_reductions},
    {"the optimizer took no time", free_optimizer},
    {"every stage took the mean of all stages", balance},
}};

}  // namespace

std::vector<WhatIf> gains_of_changes(const PlanFile& file, const Evaluation& now) {
  std::vector<WhatIf> gains;
  for (const Change& change : kChanges) {
    PlanFile changed = file;
    change.apply(changed);
    gains.push_back({std::string(change.words), replay_plan_file(changed).evaluation.step_time});
  }
  gains.push_back({"the busiest rank never waited (no bubble: a bound)", now.ideal});
  return gains;
}

}  // namespace penstock
