// Gaps are walked as analyze.cc walks them, over the log of a rolled-up replay. What a jump left
// out is not walked: a gap there that is the same in every window is walked once and counted for
// all, and a walk that comes back to the same place some windows earlier is continued by multiples
// of that cycle. Tests compare it with the plain walk, to the nanosecond.
#include "simulator/rolled_attribution.h"

#include <algorithm>

#include "simulator/binding_walk.h"

namespace penstock {
namespace {

constexpr int kFirstCheckpoint = 16;  // nodes walked before the first look for a cycle

void add(RankTime& to, const RankTime& from, const RankTime& since, std::int64_t times) {
  for (Duration RankTime::*part : {&RankTime::warm_up, &RankTime::drain, &RankTime::imbalance,
                                   &RankTime::order, &RankTime::transfer, &RankTime::barrier}) {
    to.*part += times * (from.*part - since.*part);
  }
}

// The idle time of one rank, gap by gap.
//
// Behind a jump every time of a step grows by a constant per window, and what bound a step's start
// is, window after window, the same step of the same window or of earlier ones. So where a gap
// grows by nothing and its walk stays within the windows that the jump went over, it says the same
// in every window: it is walked once and counted for all. A walk that itself goes back through many
// windows comes to the same step again, so many windows earlier: then it goes over as many more of
// these cycles as are left.
class RankWalk {
 public:
  RankWalk(const std::vector<RolledTimeline>& pipelines, const StepEnd& step_end,
           const BindingWalk& tail, const std::vector<Duration>& busy, std::size_t pipeline,
           int rank)
      : pipelines_(pipelines),
        pipeline_(pipeline),
        own_(pipelines[pipeline]),
        step_end_(step_end),
        tail_(tail),
        busy_(busy),
        rank_(rank),
        rank_of_program_(step_end.program.pipelines[pipeline].first_rank + rank),
        first_backward_(own_.first_backward(rank)),
        last_forward_(own_.last_forward(rank)) {
    time_.busy = busy_of(rank_of_program_);
  }

  RankTime attribute() {
    const auto& jumps = own_.jumps();
    std::size_t next = 0;
    for (std::int64_t at = 0; at < own_.length(rank_);) {
      while (next < jumps.size() && left_out(jumps[next]) == 0) ++next;
      if (next < jumps.size() && jumps[next].position[index()] == at) {
        jumped(static_cast<std::int32_t>(next));
        at += left_out(jumps[next++]);
      } else {
        step(at);
        at += own_.is_pair(rank_, at) ? 2 : 1;
      }
    }
    end_of_step();
    return time_;
  }

 private:
  struct Cause {
    std::size_t pipeline = 0;
    RolledNode node;
  };
  // A place in a walk that it may come to again, some windows earlier.
  struct Checkpoint {
    Cause at;
    RolledTimeline::Skipped skipped;
    SimTime to{};
    RankTime time;
  };

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::int64_t left_out(const ReplayLog::Jump& jump) const {
    return jump.rounds * jump.steps_per_round[index()];
  }
  static SimTime time_at(std::int64_t nanoseconds) { return SimTime{Duration{nanoseconds}}; }
  [[nodiscard]] SimTime end_before(std::int64_t position) const {
    return position == 0 ? SimTime{} : time_at(own_.end(rank_, position - 1));
  }

  [[nodiscard]] Phase phase_at(std::int64_t position) const {
    if (position <= first_backward_) return Phase::kWarmUp;
    return position > last_forward_ ? Phase::kDrain : Phase::kSteady;
  }

  // The gap before one step; that of a pair may fall in two, around its recompute.
  void step(std::int64_t position) {
    const RolledNode node = own_.node_at(rank_, position);
    SimTime free = end_before(position);
    Phase phase = phase_at(position);
    if (own_.inserts_recompute() && own_.is_pair(rank_, position)) {
      const RolledNode lead{position, rank_, true};
      gap(free, lead, phase);
      free = time_at(own_.end(lead));
      phase = Phase::kSteady;
    }
    gap(free, node, phase);
  }
  void gap(SimTime free, const RolledNode& node, Phase phase) {
    const SimTime start = time_at(own_.start(node));
    if (start > free) explain(free, start, {pipeline_, own_.bound_by(node)}, phase);
  }
  // All idle time before the step, and whether it is that of the window behind.
  [[nodiscard]] std::int64_t idle_before(std::int64_t position) const {
    const RolledNode node = own_.node_at(rank_, position);
    return own_.start(node) - end_before(position).time_since_epoch().count();
  }

  void jumped(std::int32_t jump) {
    const ReplayLog::Jump& of = own_.jumps()[static_cast<std::size_t>(jump)];
    const std::int64_t first = of.position[index()], behind = first + left_out(of);
    const std::int64_t window = own_.steps_per_window(jump, rank_);
    for (std::int64_t i = 0; i < window && first + i < behind;) {
      every_window(jump, first + i, behind);
      i += own_.is_pair(rank_, first + i) ? 2 : 1;
    }
  }

  // The same step in all windows. In the last whole one a faster line may have caught up.
  void every_window(std::int32_t jump, std::int64_t position, std::int64_t behind) {
    const std::int64_t window = own_.steps_per_window(jump, rank_);
    const std::int64_t alike = own_.windows(jump) - 1;
    for (std::int64_t count = 1; position < behind; ++count, position += window) {
      const RankTime since = time_;
      jump_ = jump;
      stays_within_ = true;
      step(position);
      if (count >= alike || !stays_within_) continue;
      if (idle_before(position) != idle_before(position + window)) continue;
      add(time_, RankTime(time_), since, alike - count);
      position += (alike - count) * window;
      count = alike;
    }
    jump_ = -1;
  }

  void end_of_step() {
    const Program& program = step_end_.program;
    SimTime free = end_before(own_.length(rank_));
    for (auto i = static_cast<std::uint32_t>(step_end_.stand_ins.size());
         i < program.actions.size(); ++i) {
      const Action& action = program.actions[i];
      if (!is_compute(action.kind) || program.rank_of(action).value != rank_of_program_) {
        continue;
      }
      explain_from_tail(free, tail_.start(i), tail_.bound_by(i));
      free = tail_.end(i);
    }
    explain_from_tail(free, tail_.makespan_end(), tail_.last());
  }

  // Idle from `from` to `to`, when an action of the step's end ended at `to` or before it.
  void explain_from_tail(SimTime from, SimTime to, std::uint32_t node) {
    while (to > from) {
      if (node == BindingWalk::kNone) {
        time_.transfer += to - from;
        return;
      }
      if (node < step_end_.stand_ins.size()) {
        const StepEnd::StandIn& at = step_end_.stand_ins[node];
        explain(from, to, {at.pipeline, at.node}, Phase::kDrain);
        return;
      }
      const SimTime end = std::max(from, std::min(to, tail_.end(node)));
      const SimTime start = std::max(from, std::min(end, tail_.start(node)));
      time_.transfer += to - end;
      const bool copies = is_copy(step_end_.program.actions[node].kind);
      (copies ? time_.transfer : time_.barrier) += end - start;
      to = start;
      node = tail_.bound_by(node);
    }
  }

  // Likewise of a step of a pipeline. What lies between the end of a step and the start of the one
  // that it bound was spent on a link.
  void explain(SimTime from, SimTime to, Cause at, Phase phase) {
    int walked = 0, next_checkpoint = kFirstCheckpoint;
    Checkpoint checkpoint;
    while (to > from) {
      if (at.node.none()) {
        time_.transfer += to - from;
        stays_within_ = false;
        return;
      }
      const RolledTimeline& timeline = pipelines_[at.pipeline];
      const auto skipped = timeline.skipped(at.node.rank, at.node.position);
      stays_within_ = stays_within_ && skipped.jump >= 0 && skipped.jump == jump_;
      if (skipped.jump < 0 || skipped.window >= timeline.windows(skipped.jump)) {
        checkpoint.at.node = {};
      } else if (comes_again(checkpoint, at, skipped)) {
        go_over_cycles(checkpoint, from, to, at, skipped);
        checkpoint.at.node = {};
        if (to <= from) return;
      } else if (++walked >= next_checkpoint) {
        checkpoint = {at, skipped, to, time_};
        next_checkpoint *= 2;
      }
      const SimTime end = std::max(from, std::min(to, time_at(timeline.end(at.node))));
      const SimTime start = std::max(from, std::min(end, time_at(timeline.start(at.node))));
      time_.transfer += to - end;
      part(at, phase) += end - start;
      to = start;
      at.node = timeline.bound_by(at.node);
    }
  }

  static bool comes_again(const Checkpoint& checkpoint, const Cause& at,
                          const RolledTimeline::Skipped& skipped) {
    return !checkpoint.at.node.none() && checkpoint.at.pipeline == at.pipeline &&
           checkpoint.at.node.rank == at.node.rank && checkpoint.at.node.lead == at.node.lead &&
           checkpoint.skipped.jump == skipped.jump &&
           checkpoint.skipped.in_window == skipped.in_window &&
           checkpoint.skipped.window > skipped.window;
  }

  // What happened since the checkpoint happens again in each of as many windows before, down to the
  // first that the jump went over, or until the gap is covered.
  void go_over_cycles(const Checkpoint& since, SimTime from, SimTime& to, Cause& at,
                      const RolledTimeline::Skipped& skipped) {
    const std::int64_t windows = since.skipped.window - skipped.window;
    const Duration cycle = since.to - to;
    std::int64_t cycles = (skipped.window - 1) / windows;
    if (cycle > Duration{}) cycles = std::min(cycles, (to - from) / cycle);
    add(time_, RankTime(time_), since.time, cycles);
    to -= cycles * cycle;
    at.node.position -=
        cycles * windows * pipelines_[at.pipeline].steps_per_window(skipped.jump, at.node.rank);
  }

  Duration& part(const Cause& at, Phase phase) {
    if (phase == Phase::kWarmUp) return time_.warm_up;
    if (phase == Phase::kDrain) return time_.drain;
    const int other = step_end_.program.pipelines[at.pipeline].first_rank + at.node.rank;
    return busy_of(other) > busy_of(rank_of_program_) ? time_.imbalance : time_.order;
  }
  [[nodiscard]] Duration busy_of(int rank) const { return busy_[static_cast<std::size_t>(rank)]; }

  const std::vector<RolledTimeline>& pipelines_;
  std::size_t pipeline_;
  const RolledTimeline& own_;
  const StepEnd& step_end_;
  const BindingWalk& tail_;
  const std::vector<Duration>& busy_;
  int rank_;  // of its pipeline
  int rank_of_program_;
  std::int64_t first_backward_, last_forward_;
  RankTime time_;
  // While the step of a jump is looked at: which; whether all walks stayed within its windows.
  std::int32_t jump_ = -1;
  bool stays_within_ = true;
};

}  // namespace

std::vector<RankTime> attribute_idle(const std::vector<RolledTimeline>& pipelines,
                                     const StepEnd& step_end, const std::vector<Duration>& busy,
                                     int attributed) {
  const BindingWalk tail(step_end.program, step_end.timeline, step_end.copies);
  std::vector<RankTime> times;
  for (std::size_t p = 0; p < static_cast<std::size_t>(attributed); ++p) {
    for (int r = 0; r < step_end.program.pipelines.at(p).ranks; ++r) {
      times.push_back(RankWalk(pipelines, step_end, tail, busy, p, r).attribute());
    }
  }
  return times;
}

}  // namespace penstock
