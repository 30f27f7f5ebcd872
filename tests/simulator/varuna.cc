#include "tests/simulator/varuna.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/values/schedule.h"
#include "tests/simulator/pipelines.h"

namespace penstock::testing {
namespace {

// In the order in which a rank prefers them. The second half of a backward takes a quantum of its
// own, but is not listed: it always follows at once.
enum Work { kSecondHalf, kBackward, kRecompute, kForward, kNothing };

// Work of one kind is released and taken in micro-batch order, so two counters say what a queue
// holds.
struct Queue {
  int released = 0, taken = 0;
  [[nodiscard]] bool empty() const { return taken == released; }
};
using RankQueues = std::array<Queue, kNothing>;

Work first_ready(const RankQueues& queues) {
  for (const Work work : {kSecondHalf, kBackward, kRecompute, kForward}) {
    if (!queues[work].empty()) return work;
  }
  return kNothing;
}

// What the end of `work` on `rank` makes ready, there and on its neighbours.
void release(std::vector<RankQueues>& ranks, std::size_t rank, Work work) {
  const bool is_last = rank + 1 == ranks.size();
  if (work == kForward) {
    ++(is_last ? ranks[rank][kBackward] : ranks[rank + 1][kForward]).released;
  } else if (work == kRecompute) {
    ++ranks[rank][kBackward].released;
  } else if (work == kBackward) {
    ++ranks[rank][kSecondHalf].released;
    if (rank > 0) ++ranks[rank - 1][kRecompute].released;
  }
}

ComputeAction action_of(Work work, std::size_t rank, int micro_batch) {
  ComputeAction action;
  action.kind = work == kForward     ? ActionKind::kForward
                : work == kRecompute ? ActionKind::kRecompute
                                     : ActionKind::kFusedBackward;
  action.stage = StageId{static_cast<std::uint16_t>(rank)};
  action.micro_batch = MicroBatchId{static_cast<std::uint32_t>(micro_batch)};
  return action;
}

}  // namespace

std::vector<std::vector<ComputeAction>> varuna_lists(int ranks, int micro_batches) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::vector<ComputeAction>> lists(count);
  for (auto& list : lists) list.reserve(3 * static_cast<std::size_t>(micro_batches));
  std::vector<RankQueues> queues(count);
  queues[0][kForward].released = micro_batches;
  std::vector<Work> chosen(count);
  for (bool busy = true; busy;) {  // one quantum
    busy = false;
    for (std::size_t r = 0; r < count; ++r) {
      chosen[r] = first_ready(queues[r]);
      if (chosen[r] == kNothing) continue;
      busy = true;
      const int micro_batch = queues[r][chosen[r]].taken++;
      if (chosen[r] != kSecondHalf) lists[r].push_back(action_of(chosen[r], r, micro_batch));
    }
    for (std::size_t r = 0; r < count; ++r) release(queues, r, chosen[r]);
  }
  return lists;
}

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
