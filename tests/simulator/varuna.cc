#include "tests/simulator/varuna.h"

#include <numeric>
#include <vector>

#include "core/schedule.h"
#include "simulator/schedules/varuna.h"
#include "tests/simulator/pipelines.h"

namespace penstock::testing {

Program varuna_program(int ranks, int micro_batches, RunTimeRule rule) {
  std::vector<int> rank_of_stage(static_cast<std::size_t>(ranks));
  std::iota(rank_of_stage.begin(), rank_of_stage.end(), 0);
  Schedule schedule =
      schedule_of_lists("varuna", micro_batches, rank_of_stage, varuna_lists(ranks, micro_batches));
  schedule.rule = rule;
  return lower({input_of(std::move(schedule))}, {});
}

StagePrices varuna_prices(int ranks, const VarunaCosts& costs) {
  RankCosts rank;
  rank.forward = costs.forward;
  rank.input_gradient = costs.backward;
  StagePrices prices = equal_prices(ranks, 1, rank);
  for (int s = 0; s + 1 < ranks; ++s) {
    const bool is_near = s / costs.group == (s + 1) / costs.group;
    TransferPrice& transfer = prices.transfer[static_cast<std::size_t>(s)];
    transfer.activation.duration = Duration{is_near ? costs.near : costs.far};
    transfer.gradient.duration = transfer.activation.duration;
  }
  return prices;
}

}  // namespace penstock::testing
