// Because micro-batches of one kind and stage run in ascending order, an action needs only its kind
// and chunk, and the micro-batch is a count. length_of() runs such lists without an event queue: it
// sweeps over the ranks, down and up again, and each rank goes on until it waits for something that
// has not run. The lists must be such that they can run: whoever makes them says so. fits() adds up
// what each list holds and compares it with the rank's limit after every action.
#include "simulator/schedules/split_lists.h"

#include <algorithm>
#include <array>

namespace penstock {

SplitLists split_lists(const Schedule& schedule) {
  SplitLists lists(static_cast<std::size_t>(schedule.ranks),
                   static_cast<std::size_t>(schedule.chunks), schedule.micro_batches);
  SplitStep* next = lists.steps.data();
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (const ComputeAction& action : schedule.list(rank)) {
      const bool fused = action.kind == ActionKind::kFusedBackward;
      const auto chunk = static_cast<std::uint8_t>(action.stage.value / schedule.ranks);
      *next++ = {fused ? ActionKind::kInputGradient : action.kind, chunk};
      if (fused) *next++ = {ActionKind::kWeightGradient, chunk};
    }
  }
  return lists;
}

bool fits(const SplitLists& lists, const StageCosts& costs) {
  for (std::size_t rank = 0; rank < lists.ranks; ++rank) {
    std::int64_t memory = 0;
    for (const SplitStep step : lists.list(rank)) {
      const std::size_t stage = lists.stage(rank, step);
      if (step.kind == ActionKind::kForward) {
        memory += costs.taken_by_forward[stage];
        if (memory > costs.limit[rank]) return false;
      } else {
        memory -= step.kind == ActionKind::kInputGradient ? costs.freed_by_input_gradient[stage]
                                                          : costs.freed_by_weight_gradient[stage];
      }
    }
  }
  return true;
}

SplitReplay::SplitReplay(const StageCosts& costs, std::size_t micro_batches)
    : costs_(costs),
      micro_batches_(micro_batches),
      ranks_(costs.limit.size()),
      stages_(costs.forward.size()),
      forward_ends_(stages_.size() * micro_batches),
      input_ends_(forward_ends_.size()) {}

// Runs each list as far as it goes, sweeping down and up the ranks.
std::optional<ListLength> SplitReplay::run(const SplitLists& lists, Shortest shortest) {
  ranks_.assign(ranks_.size(), {});
  stages_.assign(stages_.size(), {});
  ends_ = Duration{0};
  for (std::size_t left = lists.steps.size(); left > 0;) {
    const std::size_t before = left;
    for (std::size_t r = 0; r < ranks_.size(); ++r) left -= advance(lists, r);
    for (std::size_t r = ranks_.size(); r-- > 0;) left -= advance(lists, r);
    if (left == before) return std::nullopt;
  }
  Duration longest{0};
  for (const Rank& rank : ranks_) {
    const Duration from = shortest == Shortest::kSpan ? rank.start : Duration{0};
    longest = std::max(longest, rank.end - from);
  }
  return ListLength{longest, ends_};
}

std::size_t SplitReplay::advance(const SplitLists& lists, std::size_t r) {
  const std::size_t before = ranks_[r].position;
  const auto list = lists.list(r);
  std::size_t& position = ranks_[r].position;
  while (position < list.size() &&
         run_step(ranks_[r], lists.stage(r, list[position]), list[position].kind)) {
    ++position;
  }
  return position - before;
}

// False when what the action waits for has not run yet.
bool SplitReplay::run_step(Rank& rank, std::size_t s, ActionKind kind) {
  Duration ready{0};
  if (kind == ActionKind::kForward) {
    const std::size_t m = stages_[s].forwards;
    if (s > 0 && stages_[s - 1].forwards <= m) return false;
    if (s > 0) ready = forward_ends_[at(s - 1, m)] + costs_.activation[s - 1];
    forward_ends_[at(s, m)] = put(rank, ready, costs_.forward[s]);
    ++stages_[s].forwards;
  } else if (kind == ActionKind::kInputGradient) {
    const std::size_t m = stages_[s].inputs;
    const bool last = s + 1 == stages_.size();
    if ((last ? stages_[s].forwards : stages_[s + 1].inputs) <= m) return false;
    if (!last) ready = input_ends_[at(s + 1, m)] + costs_.gradient[s];
    input_ends_[at(s, m)] = put(rank, ready, costs_.input_gradient[s]);
    ++stages_[s].inputs;
  } else {
    put(rank, ready, costs_.weight_gradient[s]);
  }
  return true;
}

Duration SplitReplay::put(Rank& rank, Duration ready, Duration cost) {
  const Duration start = std::max(rank.end, ready);
  if (rank.position == 0) rank.start = start;
  rank.end = start + cost;
  ends_ += rank.end;
  return rank.end;
}

Duration length_of(const SplitLists& lists, const StageCosts& costs, Shortest shortest) {
  return SplitReplay(costs, lists.micro_batches).run(lists, shortest).value().step;
}

std::vector<std::vector<ComputeAction>> compute_actions(const SplitLists& lists) {
  std::vector<std::vector<ComputeAction>> actions(lists.ranks);
  for (std::size_t rank = 0; rank < lists.ranks; ++rank) {
    actions[rank].resize(lists.length());
    std::array<std::array<std::uint32_t, 3>, 2> next{};  // by chunk and kind
    auto action = actions[rank].begin();
    for (const SplitStep step : lists.list(rank)) {
      action->kind = step.kind;
      action->stage = StageId{static_cast<std::uint16_t>(lists.stage(rank, step))};
      action->micro_batch = MicroBatchId{next[step.chunk][static_cast<std::size_t>(step.kind)]++};
      ++action;
    }
  }
  return actions;
}

}  // namespace penstock
