// A rank waits where the arrival that it needs is not there yet; the sender wakes it. The order in
// which ranks run does not matter, because every time is a maximum and a sum of times that are
// fixed once. After each round a search looks for constant growth (jump.h); where it holds, whole
// windows are skipped, and the times behind them are those of the plain replay, to the nanosecond.
#include "simulator/rolled_replay.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "simulator/jump.h"

namespace penstock {
namespace {

// The direction in which every boundary's micro-batches are sent.
void orient_boundaries(const Schedule& schedule, RolledReplay& replay) {
  const std::int64_t per_copy = schedule.micro_batches_per_copy();
  for (std::size_t b = 0; b < replay.arrivals.rows(); ++b) {
    const bool downwards = replay.made->sent_downwards[b];
    const auto copy = static_cast<std::int64_t>(b / 2) / schedule.stages_per_copy();
    const std::int64_t origin = copy * per_copy + (downwards ? per_copy - 1 : 0);
    replay.arrivals.orient(b, origin, downwards);
  }
}

// What a step of such a kind costs with micro-batches of one run. `recompute`: every backward
// recomputes first.
RolledReplay::Costs costs_of_kind(const ReplaySteps::Kind& of, const Pipeline& pipeline,
                                  std::uint32_t run, const PriceTable& prices, bool recompute,
                                  RolledReplay::Sends sends) {
  const auto price = [&](ActionKind kind) {
    Action priced;
    priced.kind = kind;
    priced.stage = StageId{static_cast<std::uint16_t>(pipeline.first_stage + of.stage.value)};
    priced.micro_batch = MicroBatchId{pipeline.first_micro_batch + run};
    return priced;
  };
  RolledReplay::Costs costs;
  const Action priced = price(of.kind);
  costs.duration = prices.of(priced).count();
  costs.gain = prices.entries()[prices.entry_of_gain(priced)].count();
  if (is_backward(of.kind) && recompute) {
    const std::int64_t again = prices.of(price(ActionKind::kRecompute)).count();
    (of.second_of_pair ? costs.lead : costs.duration) += again;
  }
  if (sends == RolledReplay::Sends::kAtOnce || !of.sends) return costs;
  const bool forward = of.kind == ActionKind::kForward;
  const std::int64_t transfer =
      prices.of(price(forward ? ActionKind::kSendActivation : ActionKind::kSendGradient)).count();
  if (sends == RolledReplay::Sends::kInBackground) {
    costs.delay = transfer;
  } else {
    costs.sending = transfer;
    costs.duration += transfer;
  }
  return costs;
}

// Room for the arrivals of fill, one period and drain of 1F1B.
std::size_t places_at_first(const Schedule& schedule) {
  return static_cast<std::size_t>(
      std::min(schedule.micro_batches_per_copy(), 3 * schedule.ranks * schedule.chunks + 32));
}

// Blocks that no steady state is looked for in run without stopping.
bool runs_at_once(const ScheduleBlock& block, std::size_t ranks) {
  return std::uint64_t{block.repeat} * (block.end - block.begin) <= 2 * ranks;
}

}  // namespace

RolledReplay::RolledReplay(const Schedule& schedule, std::shared_ptr<const ReplaySteps> of_schedule,
                           const std::vector<MicroBatchRun>& runs, const Program& program,
                           std::size_t pipeline, const PriceTable& prices, bool recompute,
                           Sends sends, ReplayBuffers::Contents& buffers)
    : made(std::move(of_schedule)),
      steps(made->steps),
      ends(buffers.ends),
      ranks(static_cast<std::size_t>(schedule.ranks)),
      arrivals(2 * static_cast<std::size_t>(schedule.stages()), places_at_first(schedule),
               buffers.cells),
      inserts_recompute(recompute && !made->recomputes),
      schedule_(schedule),
      history_(buffers.history),
      resolved_(buffers.resolved) {
  ends.assign(schedule.actions.size(), 0);
  for (const MicroBatchRun& run : runs) {
    run_end.push_back((run_end.empty() ? 0 : run_end.back()) + run.count);
  }
  const Pipeline& of = program.pipelines[pipeline];
  costs.reserve(made->kinds.size() * runs.size());
  for (const ReplaySteps::Kind& kind : made->kinds) {
    for (std::uint32_t run = 0; run < runs.size(); ++run) {
      costs.push_back(costs_of_kind(kind, of, run, prices, inserts_recompute, sends));
    }
  }
  orient_boundaries(schedule, *this);
  order_.reserve(ranks.size());
  std::size_t resolved = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].block = schedule.blocks.data() + schedule.begin[r];
    ranks[r].end = schedule.blocks.data() + schedule.begin[r + 1];
    enter_block(ranks[r]);
    if (!ranks[r].done()) order_.push_back(static_cast<std::uint32_t>(r));
    ranks[r].first_resolved = resolved;
    resolved += most_resolved(schedule, r);
  }
  resolved_.resize(resolved);
}

bool RolledReplay::run() {
  JumpSearch jump(history_);
  while (round()) {
    if (jumps) jump.after_round(*this);
  }
  work.steps = actions() - work.skipped;
  return std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.done(); });
}

// False when no rank could run anything.
bool RolledReplay::round() {
  begin_round();
  for (const std::uint32_t r : order_) {
    run_to_goal(r);
    while (!woken_.empty()) {
      const std::uint32_t woken = woken_.back();
      woken_.pop_back();
      run_to_goal(woken);
    }
  }
  return end_round();
}

void RolledReplay::begin_round() {
  next_order_.clear();
  for (const std::uint32_t r : order_) {
    Rank& rank = ranks[r];
    rank.goal = std::min(rank.goal + 1, rank.block->repeat);
    rank.at_before = rank.at;
    rank.repetition_before = rank.repetition;
    rank.stays = true;
  }
}

bool RolledReplay::end_round() {
  bool progress = false;
  for (const std::uint32_t r : order_) {
    const Rank& rank = ranks[r];
    progress |=
        !rank.stays || rank.at != rank.at_before || rank.repetition != rank.repetition_before;
    if (rank.waits) next_order_.push_back(r);
  }
  order_.swap(next_order_);
  return progress;
}

void RolledReplay::run_to_goal(std::uint32_t index) {
  Rank& rank = ranks[index];
  if (rank.waits || rank.repetition >= rank.goal) return;
  if (repeat_block(rank) && !rank.done()) next_order_.push_back(index);
}

// False when the rank must wait before it reaches its goal.
bool RolledReplay::repeat_block(Rank& rank) {
  while (rank.repetition < rank.goal) {
    if (rank.repetition >= rank.resolved) {
      ResolvedStep* const steps_of_rank = resolved_.data() + rank.first_resolved;
      rank.resolved = resolve(*this, *rank.block, rank.repetition, steps_of_rank);
    }
    const std::uint32_t first = rank.at;
    if (rank.repetition < rank.resolved) {
      run_resolved(rank);
    } else {
      run_step_by_step(rank);
    }
    if (log != nullptr) note_ends(rank, first);
    if (rank.waits) return false;
    next_repetition(rank);
  }
  return true;
}

// Of the steps from `first` to the one that the rank is at.
void RolledReplay::note_ends(const Rank& rank, std::uint32_t first) {
  auto& noted = log->ends[static_cast<std::size_t>(&rank - ranks.data())];
  noted.insert(noted.end(), ends.begin() + first, ends.begin() + rank.at);
}

// The rest of a repetition; leaves a note where it must wait.
void RolledReplay::run_resolved(Rank& rank) {
  const ScheduleBlock& block = *rank.block;
  const ResolvedStep* const resolved = resolved_.data() + rank.first_resolved;
  std::int64_t* const cells = arrivals.cells();
  const std::int64_t travel = rank.repetition * std::abs(std::int64_t{block.advance});
  std::int64_t now = rank.now;
  std::uint32_t at = rank.at;
  for (; at < block.end; ++at) {
    const ResolvedStep& step = resolved[at - block.begin];
    if (step.read != ResolvedStep::kNothing) {
      std::int64_t& read = cells[step.read + travel];
      if (read <= 0) {
        read = Arrivals::kAwaited;
        rank.waits = true;
        break;
      }
      now = std::max(now, read - 1);
    }
    now += step.duration;
    ends[at] = now;
    if (step.write == ResolvedStep::kNothing) continue;
    std::int64_t& written = cells[step.write + travel];
    const bool awaited = written == Arrivals::kAwaited;
    written = now + step.delay + 1;
    if (awaited) wake_reader(steps[at].write);
  }
  rank.at = at;
  rank.now = now;
}

// The same, for repetitions whose steps are not looked up.
void RolledReplay::run_step_by_step(Rank& rank) {
  while (rank.at < rank.block->end) {
    const std::int64_t end = end_of(rank.at, rank.shift, rank.now);
    if (end < 0) {
      await(rank.at, rank.shift);
      rank.waits = true;
      return;
    }
    rank.now = end;
    if (steps[rank.at].pair) {
      const std::uint32_t second = rank.at + 1;
      const std::int64_t m = steps[second].micro_batch + rank.shift;
      finish(rank.at++, rank.shift, end, end - costs_of(second, m).sending);
    }
    finish(rank.at, rank.shift, end, end);
    ++rank.at;
  }
}

void RolledReplay::next_repetition(Rank& rank) {
  rank.at = rank.block->begin;
  rank.shift += rank.block->advance;
  if (++rank.repetition < rank.block->repeat) return;
  ++rank.block;
  enter_block(rank);
}

// Leaves empty blocks behind.
void RolledReplay::enter_block(Rank& rank) {
  while (!rank.done() && (rank.block->repeat == 0 || rank.block->begin == rank.block->end)) {
    ++rank.block;
  }
  rank.repetition = rank.goal = rank.resolved = 0;
  rank.shift = 0;
  rank.stays = false;
  if (rank.done()) return;
  rank.at = rank.block->begin;
  if (runs_at_once(*rank.block, ranks.size())) rank.goal = rank.block->repeat;
}

// The place of a micro-batch; what is looked up must be looked up again when cells move.
std::int64_t RolledReplay::make_room(std::size_t row, std::int64_t m) {
  const std::int64_t place = arrivals.place_of(row, m);
  if (arrivals.reserve(row, place)) {
    for (Rank& rank : ranks) rank.resolved = 0;
  }
  return place;
}

// Leaves a note where what the step waits for will arrive.
void RolledReplay::await(std::uint32_t at, std::int64_t shift) {
  if (arrival(at, shift) >= 0) ++at;
  const auto row = static_cast<std::size_t>(steps[at].read);
  arrivals.await(row, make_room(row, steps[at].micro_batch + shift));
}

// `sent`: when the rank was done with what the step sends.
void RolledReplay::finish(std::uint32_t at, std::int64_t shift, std::int64_t end,
                          std::int64_t sent) {
  ends[at] = end;
  const Step& step = steps[at];
  if (step.write < 0) return;
  const auto row = static_cast<std::size_t>(step.write);
  const std::int64_t m = step.micro_batch + shift;
  const std::int64_t place = make_room(row, m);
  if (arrivals.set(row, place, sent + costs_of(at, m).delay)) wake_reader(step.write);
}

void RolledReplay::wake_reader(std::int32_t boundary) {
  const int rank = schedule_.rank_of_stage[static_cast<std::size_t>(boundary / 2)];
  const auto reader = static_cast<std::uint32_t>(rank);
  ranks[reader].waits = false;
  woken_.push_back(reader);
}

std::int64_t RolledReplay::end_of_pair(std::uint32_t at, std::int64_t shift,
                                       std::int64_t now) const {
  const std::int64_t read = arrival(at, shift), second_read = arrival(at + 1, shift);
  if (read < 0 || second_read < 0) return -1;
  const Costs& own = costs_of(at, steps[at].micro_batch + shift);
  const Costs& second = costs_of(at + 1, steps[at + 1].micro_batch + shift);
  return std::max(std::max(now, second_read) + second.lead, read) + own.together_with(second);
}

std::int64_t RolledReplay::busy_of(std::uint32_t at, std::int64_t shift) const {
  const Costs& own = costs_of(at, steps[at].micro_batch + shift);
  if (!steps[at].pair) return own.compute();
  const Costs& second = costs_of(at + 1, steps[at + 1].micro_batch + shift);
  return second.lead + own.compute_with(second);
}

std::int64_t RolledReplay::sending_of(std::uint32_t at, std::int64_t shift) const {
  const std::int64_t own = costs_of(at, steps[at].micro_batch + shift).sending;
  if (!steps[at].pair) return own;
  return own + costs_of(at + 1, steps[at + 1].micro_batch + shift).sending;
}

std::int64_t RolledReplay::actions() const {
  std::int64_t count = 0;
  for (const ScheduleBlock& block : schedule_.blocks) {
    count += std::int64_t{block.repeat} * (block.end - block.begin);
  }
  return count;
}

std::int64_t RolledReplay::alike_after(std::int64_t m, std::int64_t advance) const {
  const std::size_t run = run_of(m);
  const std::int64_t first = run == 0 ? 0 : run_end[run - 1];
  return advance > 0 ? (run_end[run] - 1 - m) / advance : (m - first) / -advance;
}

PipelineTimes RolledReplay::times() const {
  PipelineTimes times;
  times.ranks.resize(ranks.size());
  times.stages.resize(static_cast<std::size_t>(schedule_.stages()));
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    PipelineTimes::Rank& rank = times.ranks[r];
    std::int64_t position = 0;
    for (std::size_t b = schedule_.begin[r]; b < schedule_.begin[r + 1]; ++b) {
      const ScheduleBlock& block = schedule_.blocks[b];
      if (block.repeat == 0 || block.begin == block.end) continue;
      if (rank.first < 0) {
        rank.first =
            end_of(block.begin, 0, 0) - sending_of(block.begin, 0) - busy_of(block.begin, 0);
      }
      rank.busy += busy_in(block);
      position += std::int64_t{block.repeat - 1} * (block.end - block.begin);
      const std::int64_t shift = std::int64_t{block.repeat - 1} * block.advance;
      for (std::uint32_t at = block.begin; at < block.end; ++at) {
        ++position;
        const ComputeAction& ran = schedule_.actions[at];
        if (!completes_gradient(ran.kind)) continue;
        const bool second = at > block.begin && steps[at - 1].pair;
        times.stages[ran.stage.value] = {ends[at] - sending_of(second ? at - 1 : at, shift),
                                         position};
      }
    }
    rank.free = ranks[r].now;
  }
  return times;
}

// Follows from the prices alone.
std::int64_t RolledReplay::busy_in(const ScheduleBlock& block) const {
  std::int64_t busy = 0;
  for (std::uint32_t at = block.begin; at < block.end; at += steps[at].pair ? 2 : 1) {
    for (std::int64_t repetition = 0; repetition < block.repeat;) {
      const std::int64_t shift = repetition * block.advance;
      std::int64_t alike = block.repeat - repetition;
      for (std::uint32_t member = at; member <= at + (steps[at].pair ? 1 : 0); ++member) {
        if (block.advance == 0 || run_end.size() == 1) break;
        const std::int64_t m = steps[member].micro_batch + shift;
        alike = std::min(alike, alike_after(m, block.advance) + 1);
      }
      busy += alike * busy_of(at, shift);
      repetition += alike;
    }
  }
  return busy;
}

}  // namespace penstock
