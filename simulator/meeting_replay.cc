// In every round each rank runs to the end of the repetition that it is in, or until it must wait
// for the other rank of a transfer, which wakes it. Who runs when depends on places alone, and
// times are maxima and sums of clocks; so from equal places and clocks that are later by one time
// follow equal places and later clocks. The ranks are compared with those of some rounds ago, kept
// twice as long each time (Brent's way to find a cycle: no more than two states are there at once).
// A rank that has not moved meets no other within the period, and stays as it is.
//
// A jump leaves every rank two repetitions of its block, so that each step that a later time is
// asked of runs again behind it.
#include "simulator/meeting_replay.h"

#include <algorithm>
#include <limits>

#include "core/values/error.h"

namespace penstock {
namespace {

Action priced(const MeetingLists::Cost::Of& of, const Program& tables) {
  Action action;
  action.kind = of.kind;
  action.stage = of.stage;
  const auto& all = tables.micro_batches;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& micro_batch) {
    return micro_batch.shape == of.shape;
  });
  if (found == all.end()) {
    throw Error(ErrorKind::kInternal, "a step is of a shape that no micro-batch has");
  }
  action.micro_batch = MicroBatchId{static_cast<std::uint32_t>(found - all.begin())};
  return action;
}

std::int64_t duration_of(const MeetingLists::Cost& cost, const Program& tables,
                         const PriceTable& prices) {
  const Action first = priced(cost.first, tables);
  if (!cost.is_pair) return prices.of(first).count();
  return prices.of_overlap(first, priced(cost.second, tables)).count();
}

}  // namespace

MeetingReplay::MeetingReplay(const MeetingLists& lists, const Program& tables,
                             const PriceTable& prices)
    : lists_(lists), tables_(tables), ranks_(lists.ranks()), last_(tables.stages.size()) {
  durations_.reserve(lists.costs.size());
  for (const MeetingLists::Cost& cost : lists.costs) {
    durations_.push_back(duration_of(cost, tables, prices));
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].block = lists.begin[r];
    ranks_[r].end = lists.begin[r + 1];
    if (!ranks_[r].done()) ranks_[r].at = lists.blocks[ranks_[r].block].begin;
  }
}

bool MeetingReplay::run() {
  while (round()) {
    if (jumps) look_for_period();
  }
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.done(); });
}

// False when no rank could run anything.
bool MeetingReplay::round() {
  const std::int64_t steps_before = work.steps;
  for (Rank& rank : ranks_) rank.goal = rank.repetition + 1;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    run_to_goal(r);
    while (!woken_.empty()) {
      const std::uint32_t woken = woken_.back();
      woken_.pop_back();
      run_to_goal(woken);
    }
  }
  return work.steps > steps_before;
}

void MeetingReplay::run_to_goal(std::uint32_t index) {
  Rank& rank = ranks_[index];
  if (rank.done() || rank.waits_in != kNotWaiting || rank.repetition >= rank.goal) return;
  if (run_repetition(rank)) next_repetition(rank);
}

// False when the rank must wait before its end.
bool MeetingReplay::run_repetition(Rank& rank) {
  const std::uint32_t end = lists_.blocks[rank.block].end, begin = rank.at;
  std::uint32_t at = begin;
  for (; at < end; ++at) {
    const MeetingLists::Step& step = lists_.steps[at];
    if (step.peer < 0) {
      if (rank.first < 0) rank.first = rank.now;
      rank.now += durations_[step.cost];
      if (step.completes >= 0) {
        last_[static_cast<std::size_t>(step.completes)] = {rank.now, ++rank.completed};
      }
      continue;
    }
    Rank& peer = ranks_[static_cast<std::size_t>(step.peer)];
    if (peer.waits_in != step.channel) {
      rank.waits_in = step.channel;
      break;
    }
    rank.now = peer.now = std::max(rank.now, peer.now) + durations_[step.cost];
    peer.waits_in = kNotWaiting;
    ++peer.at;
    ++work.steps;
    woken_.push_back(static_cast<std::uint32_t>(step.peer));
  }
  work.steps += at - begin;
  rank.at = at;
  return rank.waits_in == kNotWaiting;
}

void MeetingReplay::next_repetition(Rank& rank) {
  if (++rank.repetition == lists_.blocks[rank.block].repeat) {
    rank.repetition = rank.goal = 0;  // the next block begins in the next round
    ++rank.block;
    if (rank.done()) return;
  }
  rank.at = lists_.blocks[rank.block].begin;
}

void MeetingReplay::look_for_period() {
  if (!before_.empty()) {
    if (jump_over_periods()) {
      before_.clear();
      kept_for_ = 1;
      return;
    }
    if (++age_ < kept_for_) return;
  }
  const bool in_new_blocks =
      !before_.empty() &&
      !std::equal(ranks_.begin(), ranks_.end(), before_.begin(),
                  [](const Rank& a, const Rank& b) { return a.block == b.block; });
  kept_for_ = in_new_blocks ? 1 : 2 * kept_for_;
  before_ = ranks_;
  age_ = 0;
}

// False where none is seen.
bool MeetingReplay::jump_over_periods() {
  constexpr std::int64_t kUnknown = -1;
  std::int64_t period = kUnknown, periods = std::numeric_limits<std::int64_t>::max();
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Rank& rank = ranks_[r];
    if (!rank.is_where(before_[r])) return false;
    const std::int64_t ran = rank.repetition - before_[r].repetition;
    const std::int64_t later = rank.now - before_[r].now;
    if (ran == 0) {
      if (later != 0) return false;
      continue;
    }
    if (period != kUnknown && later != period) return false;
    period = later;
    const std::int64_t left = lists_.blocks[rank.block].repeat - 2 - rank.repetition;
    periods = std::min(periods, left / ran);
  }
  if (period == kUnknown || periods <= 0) return false;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    const std::int64_t ran = rank.repetition - before_[r].repetition;
    if (ran == 0) continue;
    const MeetingLists::Block& block = lists_.blocks[rank.block];
    rank.repetition += periods * ran;
    rank.now += periods * period;
    work.skipped += periods * ran * (block.end - block.begin);
  }
  ++work.jumps;
  return true;
}

// Follows from the prices alone.
std::int64_t MeetingReplay::busy_of(std::size_t rank) const {
  std::int64_t busy = 0;
  for (std::size_t b = lists_.begin[rank]; b < lists_.begin[rank + 1]; ++b) {
    const MeetingLists::Block& block = lists_.blocks[b];
    std::int64_t once = 0;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      if (lists_.steps[at].peer < 0) once += durations_[lists_.steps[at].cost];
    }
    busy += block.repeat * once;
  }
  return busy;
}

std::vector<PipelineTimes> MeetingReplay::times() const {
  std::vector<PipelineTimes> all;
  for (const Pipeline& pipeline : tables_.pipelines) {
    PipelineTimes& times = all.emplace_back();
    const auto first = last_.begin() + pipeline.first_stage;
    times.stages.assign(first, first + pipeline.stages);
    for (int r = 0; r < pipeline.ranks; ++r) {
      const auto rank = static_cast<std::size_t>(pipeline.first_rank) + static_cast<std::size_t>(r);
      times.ranks.push_back({ranks_[rank].first, busy_of(rank), ranks_[rank].now});
    }
  }
  return all;
}

}  // namespace penstock
