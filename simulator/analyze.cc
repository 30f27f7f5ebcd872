// Idle time of a rank is attributed gap by gap: from the end of a gap the chain of what each action
// was bound by is walked backwards until the gap is covered, and every piece goes to the kind of
// action that ran then. Pieces of compute are warm-up before the rank's first backward, drain after
// its last forward, and in between imbalance where the rank that ran them is busier than this one,
// order otherwise. The parts of a rank sum to the makespan.
#include "simulator/analyze.h"

#include <algorithm>
#include <utility>

#include "simulator/binding_walk.h"

namespace penstock {
namespace {

// Attributes the idle time of one rank, gap by gap.
class RankAttribution {
 public:
  RankAttribution(const Program& program, const BindingWalk& walk,
                  const std::vector<Duration>& busy, std::size_t rank)
      : program_(program), walk_(walk), busy_(busy), rank_(rank) {
    time_.busy = busy[rank];
  }

  // `computes`: the rank's compute actions in order.
  RankTime attribute(const std::vector<std::uint32_t>& computes) {
    Phase phase = Phase::kWarmUp;
    const std::size_t last_forward = position_of_last_forward(computes);
    SimTime free{};
    for (std::size_t i = 0; i < computes.size(); ++i) {
      const std::uint32_t action = computes[i];
      explain(free, walk_.start(action), walk_.bound_by(action), phase);
      free = walk_.end(action);
      const bool backward_seen = phase != Phase::kWarmUp ||
                                 is_backward(program_.actions[action].kind) ||
                                 program_.actions[action].kind == ActionKind::kRecompute;
      if (backward_seen) phase = i >= last_forward ? Phase::kDrain : Phase::kSteady;
    }
    explain(free, walk_.makespan_end(), walk_.last(), Phase::kDrain);
    return time_;
  }

 private:
  [[nodiscard]] std::size_t position_of_last_forward(
      const std::vector<std::uint32_t>& computes) const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < computes.size(); ++i) {
      if (program_.actions[computes[i]].kind == ActionKind::kForward) last = i;
    }
    return last;
  }

  // Idle from `from` to `to`, when `node` ended at `to` or before it: walks back until the gap is
  // covered. Time between an action's start and the end of what bound it was spent in a queue.
  void explain(SimTime from, SimTime to, std::uint32_t node, Phase phase) {
    while (to > from) {
      if (node == kWaitsForNothing) {
        time_.transfer += to - from;
        return;
      }
      const SimTime end = std::max(from, std::min(to, walk_.end(node)));
      time_.transfer += to - end;
      const SimTime start = std::max(from, std::min(end, walk_.start(node)));
      part(node, phase) += end - start;
      to = start;
      node = walk_.bound_by(node);
    }
  }

  Duration& part(std::uint32_t node, Phase phase) {
    const Action& action = program_.actions[node];
    if (is_collective(action.kind) || rule_of(action.kind).updates) return time_.barrier;
    if (is_send(action.kind) || is_receive(action.kind) || is_copy(action.kind)) {
      return time_.transfer;  // of the host's link, too
    }
    if (phase == Phase::kWarmUp) return time_.warm_up;
    if (phase == Phase::kDrain) return time_.drain;
    const auto other = static_cast<std::size_t>(program_.rank_of(action).value);
    return busy_[other] > busy_[rank_] ? time_.imbalance : time_.order;
  }

  const Program& program_;
  const BindingWalk& walk_;
  const std::vector<Duration>& busy_;
  std::size_t rank_;
  RankTime time_;
};

}  // namespace

TimelineSummary summarize_ranks(const std::vector<SimTime>& first, const std::vector<SimTime>& last,
                                std::vector<Duration> busy) {
  TimelineSummary summary;
  summary.busy = std::move(busy);
  SimTime begin = SimTime::max();
  SimTime end{};
  for (std::size_t r = 0; r < first.size(); ++r) {
    summary.ideal = std::max(summary.ideal, summary.busy[r]);
    if (first[r] == SimTime::max()) continue;  // it computes nothing
    summary.longest_span = std::max(summary.longest_span, last[r] - first[r]);
    begin = std::min(begin, first[r]);
    end = std::max(end, last[r]);
  }
  if (begin != SimTime::max()) summary.makespan = end - begin;
  return summary;
}

TimelineSummary summarize(const Program& program, const Timeline& timeline) {
  const auto ranks = static_cast<std::size_t>(program.ranks());
  std::vector<SimTime> first(ranks, SimTime::max()), last(ranks);
  std::vector<Duration> busy(ranks);
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    if (is_compute(action.kind)) {
      first[rank] = std::min(first[rank], timeline.start[i]);
      // The members of an OVERLAP share their time.
      if (!action.overlaps_next) busy[rank] += timeline.end[i] - timeline.start[i];
    }
    if (is_compute(action.kind) || is_collective(action.kind) || is_copy(action.kind)) {
      last[rank] = std::max(last[rank], timeline.end[i]);
    }
  }
  return summarize_ranks(first, last, std::move(busy));
}

std::vector<RankTime> attribute_idle(const Program& program, const Timeline& timeline,
                                     const ExecutorModel& executor, int pipelines) {
  const BindingWalk walk(program, timeline, executor);
  const auto busy = summarize(program, timeline).busy;
  std::vector<std::vector<std::uint32_t>> computes(busy.size());
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    // The first member of an OVERLAP stands for both.
    const bool second = i > 0 && program.actions[i - 1].overlaps_next;
    if (!is_compute(action.kind) || second) continue;
    computes[static_cast<std::size_t>(program.rank_of(action).value)].push_back(i);
  }
  std::vector<RankTime> result;
  const Pipeline& last = program.pipelines.at(static_cast<std::size_t>(pipelines) - 1);
  for (int r = 0; r < last.first_rank + last.ranks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    result.push_back(RankAttribution(program, walk, busy, rank).attribute(computes[rank]));
  }
  return result;
}

}  // namespace penstock
