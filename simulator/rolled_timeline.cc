// A rolled replay keeps the ends of the steps that it walked and, of every jump, how many windows
// it went over and how each time of the window before it grew. end() looks a position up among the
// walked steps, or takes the step one window before the jump and adds that growth as often as
// windows lie between. Who brought what a step waits for is found from the block that wrote the
// arrival (ReplaySteps::note_writers()), since a micro-batch's writer follows from the block's
// shift.
//
// Invariant: every answer is the one that the timeline of the written-out Program gives, to the
// nanosecond; tests/simulator compares them.
#include "simulator/rolled_timeline.h"

#include <algorithm>
#include <utility>

namespace penstock {

RolledTimeline::RolledTimeline(const RolledReplay& replay, const Schedule& schedule, ReplayLog log)
    : schedule_(schedule),
      log_(std::move(log)),
      inserts_recompute_(replay.inserts_recompute),
      sends_block_(std::any_of(replay.costs.begin(), replay.costs.end(),
                               [](const RolledReplay::Costs& of) { return of.sending > 0; })),
      made_(replay.made),
      steps_(made_->steps),
      costs_(replay.costs),
      run_end_(replay.run_end),
      begin_(schedule.blocks.size(), 0) {
  for (int r = 0; r < schedule.ranks; ++r) {
    std::int64_t position = 0;
    const auto rank = static_cast<std::size_t>(r);
    for (std::size_t b = schedule.begin[rank]; b < schedule.begin[rank + 1]; ++b) {
      const ScheduleBlock& block = schedule.blocks[b];
      begin_[b] = position;
      position += std::int64_t{block.repeat} * (block.end - block.begin);
    }
    length_.push_back(position);
  }
}

RolledTimeline::At RolledTimeline::locate(int rank, std::int64_t position) const {
  const auto r = static_cast<std::size_t>(rank);
  const auto first = begin_.begin() + static_cast<std::ptrdiff_t>(schedule_.begin[r]);
  const auto end = begin_.begin() + static_cast<std::ptrdiff_t>(schedule_.begin[r + 1]);
  const auto found = std::upper_bound(first, end, position) - 1;
  const ScheduleBlock& block = schedule_.blocks[static_cast<std::size_t>(found - begin_.begin())];
  const std::int64_t steps = block.end - block.begin;
  const std::int64_t within = position - *found;
  return {block.begin + static_cast<std::uint32_t>(within % steps), within / steps * block.advance};
}

const RolledReplay::Costs& RolledTimeline::costs_of(std::uint32_t step, std::int64_t shift) const {
  const std::int64_t m = steps_[step].micro_batch + shift;
  std::size_t run = 0;
  while (m >= run_end_[run]) ++run;
  return costs_[steps_[step].costs + run];
}

RolledTimeline::Skipped RolledTimeline::skipped(int rank, std::int64_t position) const {
  const auto r = static_cast<std::size_t>(rank);
  for (std::size_t j = 0; j < log_.jumps.size(); ++j) {
    const ReplayLog::Jump& jump = log_.jumps[j];
    const std::int64_t into = position - jump.position[r];
    if (into < 0) return {};
    if (into >= jump.rounds * jump.steps_per_round[r]) continue;
    const std::int64_t window = jump.length * jump.steps_per_round[r];
    const std::int64_t count = into / window + 1;
    return {static_cast<std::int32_t>(j), count, position - count * window};
  }
  return {};
}

std::int64_t RolledTimeline::windows(std::int32_t jump) const {
  const ReplayLog::Jump& of = log_.jumps[static_cast<std::size_t>(jump)];
  return of.rounds / of.length;
}

std::int64_t RolledTimeline::steps_per_window(std::int32_t jump, int rank) const {
  const ReplayLog::Jump& of = log_.jumps[static_cast<std::size_t>(jump)];
  return of.length * of.steps_per_round[static_cast<std::size_t>(rank)];
}

std::int64_t RolledTimeline::end(int rank, std::int64_t position) const {
  const std::int64_t end = free(rank, position);
  if (!sends_block_) return end;
  At at = locate(rank, position);
  if (at.step > 0 && steps_[at.step - 1].pair) --at.step;
  return end - sending_of(at);
}

std::int64_t RolledTimeline::sending_of(const At& at) const {
  const std::int64_t own = costs_of(at.step, at.shift).sending;
  return steps_[at.step].pair ? own + costs_of(at.step + 1, at.shift).sending : own;
}

std::int64_t RolledTimeline::free(int rank, std::int64_t position) const {
  const auto r = static_cast<std::size_t>(rank);
  const auto& ends = log_.ends[r];
  std::int64_t left_out = 0;  // before the position
  for (const ReplayLog::Jump& jump : log_.jumps) {
    const std::int64_t into = position - jump.position[r];
    if (into < 0) break;
    const std::int64_t all = jump.rounds * jump.steps_per_round[r];
    if (into >= all) {
      left_out += all;
      continue;
    }
    const std::int64_t window = jump.length * jump.steps_per_round[r];
    const std::int64_t windows = into / window + 1;
    const auto stored = static_cast<std::size_t>(position - windows * window - left_out);
    const std::int64_t slope =
        jump.period ? *jump.period : ends[stored] - ends[stored - static_cast<std::size_t>(window)];
    return ends[stored] + windows * slope;
  }
  return ends[static_cast<std::size_t>(position - left_out)];
}

RolledNode RolledTimeline::node_at(int rank, std::int64_t position) const {
  if (position < 0) return {};
  const std::uint32_t step = locate(rank, position).step;
  const bool second = step > 0 && steps_[step - 1].pair;
  return {second ? position - 1 : position, rank};
}

RolledTimeline::Candidate RolledTimeline::before(int rank, std::int64_t position) const {
  if (position == 0) return {};
  return {node_at(rank, position - 1), free(rank, position - 1)};
}

RolledTimeline::Candidate RolledTimeline::arrival(const At& at) const {
  const RolledReplay::Step& step = steps_[at.step];
  if (step.read < 0) return {};
  const std::int64_t m = step.micro_batch + at.shift;
  // Boundary 2s brings an activation from stage s - 1, 2s + 1 a gradient from stage s + 1.
  const int writer_stage = step.read / 2 + (step.read % 2 == 0 ? -1 : 1);
  const int rank = schedule_.rank_of_stage[static_cast<std::size_t>(writer_stage)];
  for (const ReplaySteps::Writers& writers : made_->writers[static_cast<std::size_t>(step.read)]) {
    const std::int64_t position = writer_in(writers, m);
    if (position < 0) continue;
    const At writer = locate(rank, position);
    std::int64_t sent = free(rank, position);
    if (steps_[writer.step].pair) sent -= costs_of(writer.step + 1, writer.shift).sending;
    return {node_at(rank, position), sent + costs_of(writer.step, writer.shift).delay};
  }
  return {};
}

// The position of the block's step that writes it; negative when none does.
std::int64_t RolledTimeline::writer_in(const ReplaySteps::Writers& writers,
                                       std::int64_t micro_batch) const {
  const ScheduleBlock& block = schedule_.blocks[writers.block];
  const std::int64_t key = ReplaySteps::key_of(block, micro_batch);
  for (auto it = std::lower_bound(writers.steps.begin(), writers.steps.end(),
                                  ReplaySteps::Writer{key, 0});
       it != writers.steps.end() && it->key == key; ++it) {
    const std::int64_t further = micro_batch - steps_[it->step].micro_batch;
    const std::int64_t repetition = further == 0 ? 0 : further / block.advance;
    if (repetition < 0 || repetition >= block.repeat) continue;
    return begin_[writers.block] + repetition * (block.end - block.begin) + it->step - block.begin;
  }
  return -1;
}

std::int64_t RolledTimeline::end(const RolledNode& node) const {
  if (!node.lead) return end(node.rank, node.position);
  At second = locate(node.rank, node.position);
  ++second.step;
  return std::max({std::int64_t{0}, before(node.rank, node.position).time, arrival(second).time}) +
         costs_of(second.step, second.shift).lead;
}

std::int64_t RolledTimeline::start(const RolledNode& node) const {
  const At at = locate(node.rank, node.position);
  const RolledReplay::Costs& own = costs_of(at.step, at.shift);
  if (node.lead) return end(node) - costs_of(at.step + 1, at.shift).lead;
  const bool pair = steps_[at.step].pair;
  return end(node) - (pair ? own.compute_with(costs_of(at.step + 1, at.shift)) : own.compute());
}

RolledNode RolledTimeline::bound_by(const RolledNode& node) const {
  const At at = locate(node.rank, node.position);
  At second = at;
  ++second.step;
  Candidate latest = before(node.rank, node.position);
  const auto consider = [&](const Candidate& other) {
    if (!other.node.none() && (latest.node.none() || other.time > latest.time)) latest = other;
  };
  const bool pair = steps_[at.step].pair;
  if (node.lead) {
    consider(arrival(second));
    return latest.node;
  }
  if (pair && inserts_recompute_) {
    const RolledNode lead{node.position, node.rank, true};
    latest = {lead, end(lead)};
  }
  consider(arrival(at));
  if (pair && !inserts_recompute_) consider(arrival(second));
  return latest.node;
}

void RolledTimeline::add_compute(const RolledNode& node, std::vector<Duration>& by_stage) const {
  const At at = locate(node.rank, node.position);
  const auto add = [&](std::uint32_t step, std::int64_t time) {
    by_stage[schedule_.actions[step].stage.value] += Duration{time};
  };
  const RolledReplay::Costs& own = costs_of(at.step, at.shift);
  if (!steps_[at.step].pair) return add(at.step, own.compute());
  const RolledReplay::Costs& second = costs_of(at.step + 1, at.shift);
  if (node.lead) return add(at.step + 1, second.lead);
  const std::int64_t together = own.compute_with(second), apart = own.compute() + second.compute();
  if (apart == 0) return;
  const auto part =
      static_cast<std::int64_t>(static_cast<double>(together) * static_cast<double>(own.compute()) /
                                static_cast<double>(apart));
  add(at.step, part);
  add(at.step + 1, together - part);
}

std::int64_t RolledTimeline::first_backward(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  for (std::size_t b = schedule_.begin[r]; b < schedule_.begin[r + 1]; ++b) {
    const ScheduleBlock& block = schedule_.blocks[b];
    if (block.repeat == 0) continue;
    for (std::uint32_t at = block.begin; at < block.end; at += steps_[at].pair ? 2 : 1) {
      const ActionKind kind = schedule_.actions[at].kind;
      const bool backward = is_backward(kind) || kind == ActionKind::kRecompute;
      if (!backward && !(steps_[at].pair && inserts_recompute_)) continue;
      return begin_[b] + at - block.begin;
    }
  }
  return length(rank);
}

std::int64_t RolledTimeline::last_forward(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  std::int64_t last = 0;
  for (std::size_t b = schedule_.begin[r]; b < schedule_.begin[r + 1]; ++b) {
    const ScheduleBlock& block = schedule_.blocks[b];
    if (block.repeat == 0) continue;
    for (std::uint32_t at = block.begin; at < block.end; at += steps_[at].pair ? 2 : 1) {
      if (schedule_.actions[at].kind != ActionKind::kForward) continue;
      last =
          begin_[b] + std::int64_t{block.repeat - 1} * (block.end - block.begin) + at - block.begin;
    }
  }
  return last;
}

}  // namespace penstock
