#include "simulator/rolled_replay.h"

#include <algorithm>

#include "simulator/jump.h"

namespace penstock {
namespace {

constexpr std::size_t kEndsAtFirst = 256;

// Makes the steps of one pipeline from its schedule.
class StepTable {
 public:
  StepTable(const Schedule& schedule, const Program& program, std::size_t pipeline,
            const PriceTable& prices, bool recompute, bool transfers)
      : schedule_(schedule),
        pipeline_(program.pipelines[pipeline]),
        prices_(prices),
        recompute_(recompute),
        transfers_(transfers) {}

  [[nodiscard]] RolledReplay::Step step_of(const ComputeAction& action) const {
    const int stage = action.stage.value;
    RolledReplay::Step step;
    step.micro_batch = action.micro_batch.value;
    step.stage = action.stage.value;
    step.completes_gradient = completes_gradient(action.kind);
    step.pair = action.overlaps_next;
    const bool backward = is_backward(action.kind);
    if (action.kind == ActionKind::kForward) {
      if (schedule_.has_previous(stage)) step.read = boundary(stage - 1, stage, 2 * stage);
      if (schedule_.has_next(stage)) step.write = boundary(stage, stage + 1, 2 * (stage + 1));
    }
    if (backward || action.kind == ActionKind::kRecompute) {
      if (schedule_.has_next(stage)) step.read = boundary(stage, stage + 1, 2 * stage + 1);
    }
    if (backward && schedule_.has_previous(stage)) {
      step.write = boundary(stage - 1, stage, 2 * (stage - 1) + 1);
    }
    return step;
  }

  [[nodiscard]] RolledReplay::Costs costs_of(const ComputeAction& action, bool second_of_pair,
                                             std::uint32_t run) const {
    const auto price = [&](ActionKind kind) {
      Action priced;
      priced.kind = kind;
      priced.stage =
          StageId{static_cast<std::uint16_t>(pipeline_.first_stage + action.stage.value)};
      priced.micro_batch = MicroBatchId{pipeline_.first_micro_batch + run};
      return priced;
    };
    RolledReplay::Costs costs;
    const Action priced = price(action.kind);
    costs.duration = prices_.of(priced).count();
    costs.gain = prices_.entries()[prices_.entry_of_gain(priced)].count();
    if (is_backward(action.kind) && recompute_) {
      const std::int64_t again = prices_.of(price(ActionKind::kRecompute)).count();
      (second_of_pair ? costs.lead : costs.duration) += again;
    }
    if (!transfers_) return costs;
    const bool forward = action.kind == ActionKind::kForward;
    costs.delay =
        prices_.of(price(forward ? ActionKind::kSendActivation : ActionKind::kSendGradient))
            .count();
    return costs;
  }

 private:
  // Within a rank the order of its list says it all.
  [[nodiscard]] std::int32_t boundary(int a, int b, int index) const {
    const auto rank = [&](int s) { return schedule_.rank_of_stage[static_cast<std::size_t>(s)]; };
    return rank(a) == rank(b) ? -1 : index;
  }

  const Schedule& schedule_;
  const Pipeline& pipeline_;
  const PriceTable& prices_;
  bool recompute_, transfers_;
};

// The direction in which every boundary's micro-batches are sent.
void orient_boundaries(const Schedule& schedule, RolledReplay& replay) {
  const std::int64_t per_copy = schedule.micro_batches_per_copy();
  for (std::size_t b = 0; b < replay.boundaries.size(); ++b) {
    const auto copy = static_cast<std::int64_t>(b / 2) / schedule.stages_per_copy();
    replay.boundaries[b].origin = copy * per_copy;
    replay.boundaries[b].reader = static_cast<std::uint32_t>(schedule.rank_of_stage[b / 2]);
  }
  for (const ScheduleBlock& block : schedule.blocks) {
    if (block.advance >= 0) continue;
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      if (replay.steps[at].write < 0) continue;
      RolledReplay::Boundary& boundary =
          replay.boundaries[static_cast<std::size_t>(replay.steps[at].write)];
      if (boundary.sign < 0) continue;
      boundary.sign = -1;
      boundary.origin += per_copy - 1;
    }
  }
}

// Leaves empty blocks behind.
void enter_block(RolledReplay::Rank& rank) {
  while (!rank.done() && (rank.block->repeat == 0 || rank.size() == 0)) ++rank.block;
  rank.repetition = 0;
  rank.shift = 0;
  rank.ends.clear();
  if (!rank.done()) rank.at = rank.block->begin;
}

}  // namespace

RolledReplay::RolledReplay(const Schedule& schedule, const std::vector<MicroBatchRun>& runs,
                           const Program& program, std::size_t pipeline, const PriceTable& prices,
                           bool recompute, bool transfers)
    : ranks(static_cast<std::size_t>(schedule.ranks)),
      stages(static_cast<std::size_t>(schedule.stages())),
      boundaries(2 * stages.size()) {
  for (const MicroBatchRun& run : runs) {
    run_end.push_back((run_end.empty() ? 0 : run_end.back()) + run.count);
  }
  const bool places_recompute =
      std::any_of(schedule.actions.begin(), schedule.actions.end(),
                  [](const ComputeAction& a) { return a.kind == ActionKind::kRecompute; });
  const StepTable table(schedule, program, pipeline, prices, recompute && !places_recompute,
                        transfers);
  steps.reserve(schedule.actions.size());
  costs.reserve(schedule.actions.size() * runs.size());
  for (const ComputeAction& action : schedule.actions) {
    const bool second = !steps.empty() && steps.back().pair;
    steps.push_back(table.step_of(action));
    for (std::uint32_t run = 0; run < runs.size(); ++run) {
      costs.push_back(table.costs_of(action, second, run));
    }
  }
  orient_boundaries(schedule, *this);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].block = schedule.blocks.data() + schedule.begin[r];
    ranks[r].end = schedule.blocks.data() + schedule.begin[r + 1];
    ranks[r].ends.reserve(kEndsAtFirst);
    enter_block(ranks[r]);
  }
}

bool RolledReplay::run() {
  JumpSearch jump;
  while (round()) {
    if (jumps) jump.after_round(*this);
  }
  return std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.done(); });
}

PipelineTimes RolledReplay::times() const { return {{ranks.begin(), ranks.end()}, stages}; }

// False when no rank could run anything. Ranks that something arrives for run next, so that a round
// follows an activation down the pipeline and its gradient back.
bool RolledReplay::round() {
  for (std::size_t r = ranks.size(); r-- > 0;) {
    Rank& rank = ranks[r];
    rank.before = rank.actions;
    rank.loops = !rank.done();
    if (rank.done()) continue;
    rank.goal += rank.size();
    if (rank.waits_for < 0) runnable_.push_back(static_cast<std::uint32_t>(r));
  }
  while (!runnable_.empty()) {
    Rank& rank = ranks[runnable_.back()];
    runnable_.pop_back();
    run_to_goal(rank);
  }
  bool progress = false;
  for (Rank& rank : ranks) {
    progress |= rank.actions > rank.before;
    rank.loops = rank.loops && rank.actions - rank.before == rank.size();
  }
  return progress;
}

void RolledReplay::run_to_goal(Rank& rank) {
  while (rank.actions < rank.goal) {
    if (!perform(rank)) return;
    if (rank.at < rank.block->end) continue;
    if (++rank.repetition == rank.block->repeat) {
      ++rank.block;
      enter_block(rank);
      rank.goal = rank.actions;
      rank.loops = false;
      return;
    }
    rank.at = rank.block->begin;
    rank.shift += rank.block->advance;
  }
}

// The step that the rank is at, with the other member of an OVERLAP; false when it must wait.
bool RolledReplay::perform(Rank& rank) {
  const Step& step = steps[rank.at];
  const std::int64_t m = step.micro_batch + rank.shift;
  const Costs& own = costs_of(rank.at, m);
  std::int64_t time = rank.now;
  if (!step.pair) {
    if (!arrived(rank, step, m, time)) return false;
    if (rank.first < 0) rank.first = time;
    rank.busy += own.duration;
    finish(rank, step, m, time + own.duration, own.delay);
    ++rank.at;
    return true;
  }
  const Step& second = steps[rank.at + 1];
  const std::int64_t second_m = second.micro_batch + rank.shift;
  const Costs& other = costs_of(rank.at + 1, second_m);
  if (!arrived(rank, second, second_m, time)) return false;
  time += other.lead;
  if (!arrived(rank, step, m, time)) return false;
  if (rank.first < 0) rank.first = time - other.lead;
  const std::int64_t together = own.together_with(other);
  rank.busy += other.lead + together;
  finish(rank, step, m, time + together, own.delay);
  finish(rank, second, second_m, time + together, other.delay);
  rank.at += 2;
  return true;
}

// Moves `time` on to the arrival of what the step reads; false when it has not arrived.
bool RolledReplay::arrived(Rank& rank, const Step& step, std::int64_t m, std::int64_t& time) {
  if (step.read < 0) return true;
  const Boundary& boundary = boundaries[static_cast<std::size_t>(step.read)];
  const std::int64_t place = boundary.place_of(m);
  const std::int64_t arrival = boundary.get(place);
  if (arrival < 0) {
    rank.waits_for = step.read;
    rank.waits_for_place = place;
    return false;
  }
  time = std::max(time, arrival);
  return true;
}

void RolledReplay::finish(Rank& rank, const Step& step, std::int64_t m, std::int64_t time,
                          std::int64_t delay) {
  rank.now = time;
  ++rank.actions;
  rank.ends.push_back(time);
  if (step.completes_gradient) stages[step.stage] = {time, rank.actions};
  if (step.write < 0) return;
  Boundary& boundary = boundaries[static_cast<std::size_t>(step.write)];
  const std::int64_t place = boundary.place_of(m);
  boundary.set(place, time + delay);
  Rank& reader = ranks[boundary.reader];
  if (reader.waits_for != step.write || reader.waits_for_place != place) return;
  reader.waits_for = -1;
  runnable_.push_back(boundary.reader);
}

}  // namespace penstock
