#include "simulator/schedules/varuna.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "simulator/schedules/kinds.h"

namespace penstock {
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

namespace {

Schedule generate(const ScheduleKind& kind, const ScheduleShape& shape) {
  Schedule schedule =
      schedule_of_lists(std::string(kind.name), shape.micro_batches, stage_ranks(kind.map, shape),
                        varuna_lists(shape.ranks, shape.micro_batches));
  schedule.rule = kind.rule;
  return schedule;
}

}  // namespace

// Varuna (arXiv 2111.04007): forwards that were moved ahead hold their inputs, of all micro-batches
// where transfers are slow.
const ScheduleKind kVaruna = {
    .name = "varuna",
    .summary =
        "recomputes on all ranks but the last; while the step runs, a forward goes before a "
        "recompute whose gradient has not arrived",
    .holds_all_micro_batches = true,
    .recomputes = true,
    .is_costly = true,
    .rule = RunTimeRule::kVaruna,
    .generate = [](const ScheduleShape& shape) { return generate(kVaruna, shape); },
};

const ScheduleKind kVarunaRuntime = {
    .name = "varuna-runtime",
    .summary = "the same, and with no forward left a recompute does not wait for its gradient",
    .holds_all_micro_batches = true,
    .recomputes = true,
    .is_costly = true,
    .only_when_named = true,
    .rule = RunTimeRule::kVarunaRuntime,
    .generate = [](const ScheduleShape& shape) { return generate(kVarunaRuntime, shape); },
};

const ScheduleKind kVarunaStrict = {
    .name = "varuna-strict",
    .summary = "varuna, but only a forward whose activation has arrived goes before",
    .holds_all_micro_batches = true,
    .recomputes = true,
    .is_costly = true,
    .only_when_named = true,
    .rule = RunTimeRule::kVarunaStrict,
    .generate = [](const ScheduleShape& shape) { return generate(kVarunaStrict, shape); },
};

}  // namespace penstock
