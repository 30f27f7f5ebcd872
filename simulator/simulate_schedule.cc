// First the pipelines are replayed rolled up (rolled_replay.h), which gives for every stage the end
// of its last weight gradient and for every rank when it began and how long it was busy. Then a
// small Program is made in which one action per stage stands for all compute, and reductions, norm
// and updates follow it; replay_rest() replays that. The order in which a rank comes to its last
// gradients is kept, since collectives of one rank follow one another.
//
// Invariant: the summary is that of lower() and replay(), to the nanosecond;
// tests/simulator/simulate_schedule_test.cc compares them over random schedules.
#include "simulator/simulate_schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/values/error.h"
#include "simulator/lower_pipeline.h"
#include "simulator/meeting_lists.h"
#include "simulator/meeting_replay.h"
#include "simulator/program_tables.h"
#include "simulator/replay.h"
#include "simulator/rolled_attribution.h"
#include "simulator/rolled_replay.h"
#include "simulator/rule_replay.h"
#include "simulator/schedules/varuna.h"
#include "simulator/step_tail.h"
#include "simulator/time_on_chain.h"

namespace penstock {
namespace {

SimTime at(std::int64_t nanoseconds) { return SimTime{Duration{nanoseconds}}; }

// A Schedule without its lists.
Schedule without_lists(const Schedule& schedule) {
  Schedule result;
  result.name = schedule.name;
  result.ranks = schedule.ranks;
  result.chunks = schedule.chunks;
  result.micro_batches = schedule.micro_batches;
  result.copies = schedule.copies;
  result.rule = schedule.rule;
  result.rank_of_stage = schedule.rank_of_stage;
  return result;
}

// The pipelines without lists and with one micro-batch for every run of equal ones: what the tables
// of a Program and its prices need to know.
std::vector<PipelineInput> with_one_per_run(const std::vector<RolledInput>& pipelines) {
  std::vector<PipelineInput> inputs;
  inputs.reserve(pipelines.size());
  for (const RolledInput& pipeline : pipelines) {
    PipelineInput input{without_lists(*pipeline.schedule), {}, pipeline.replicas};
    input.micro_batches.reserve(pipeline.micro_batches.size());
    for (const MicroBatchRun& run : pipeline.micro_batches) {
      input.micro_batches.push_back(run.each);
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// A Program of what ends the step. In place of all compute stands the last weight gradient of every
// stage, in the order in which a rank comes to them; those have run already.
class EndOfStep {
 public:
  EndOfStep(const std::vector<PipelineInput>& inputs, const LoweringOptions& options)
      : inputs_(inputs), options_(options) {
    program_.schedule = inputs.at(0).schedule.name;
    add_data_groups(inputs, options, program_);
    for (const PipelineInput& input : inputs) add_pipeline(input, program_);
  }

  // Stages, ranks and micro-batches; no actions before finish().
  [[nodiscard]] const Program& tables() const { return program_; }

  TimelineSummary finish(const std::vector<PipelineTimes>& times, const StagePrices& prices,
                         const ExecutorModel& executor, Timeline* timeline = nullptr) {
    for (std::size_t p = 0; p < inputs_.size(); ++p) add_last_gradients(p, times[p]);
    if (options_.step_actions) {
      if (options_.reduce_gradients) {
        for (std::size_t p = 0; p < inputs_.size(); ++p) reduce(p);
      }
      emit_step_tail(inputs_, options_, ends_, program_);
    }
    return replay_rest(program_, PriceTable(program_, prices, executor), executor.host_link,
                       std::move(so_far_), timeline);
  }

  // After finish(): what the first actions of tables() stand for.
  [[nodiscard]] std::vector<StepEnd::StandIn> stand_ins(
      const std::vector<PipelineTimes>& times) const {
    std::vector<StepEnd::StandIn> result;
    for (const auto [p, s] : stands_for_) {
      const auto stage = static_cast<std::size_t>(s);
      const int rank = inputs_[p].schedule.rank_of_stage[stage];
      result.push_back({p, {times[p].stages[stage].position - 1, rank}});
    }
    return result;
  }

 private:
  // Stages in the order of their last weight gradients, rank by rank.
  std::vector<int> order_of(const Schedule& schedule, const PipelineTimes& times) const {
    std::vector<int> order;
    order.reserve(times.stages.size());
    for (int s = 0; s < schedule.stages(); ++s) order.push_back(s);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
      return std::pair(schedule.rank_of_stage[x], times.stages[x].position) <
             std::pair(schedule.rank_of_stage[y], times.stages[y].position);
    });
    return order;
  }

  void add_last_gradients(std::size_t p, const PipelineTimes& times) {
    const Schedule& schedule = inputs_[p].schedule;
    const Pipeline& pipeline = program_.pipelines[p];
    PipelineEnds ends;
    ends.last_of_stage.resize(times.stages.size());
    ends.reduction_of_stage.assign(times.stages.size(), kWaitsForNothing);
    ends.last_of_rank.resize(times.ranks.size());
    orders_.push_back(order_of(schedule, times));
    for (const int s : orders_.back()) {
      const auto stage = static_cast<std::size_t>(s);
      const auto index = static_cast<std::uint32_t>(program_.actions.size());
      Action action;
      action.kind = ActionKind::kWeightGradient;
      action.stage = StageId{static_cast<std::uint16_t>(pipeline.first_stage + s)};
      action.micro_batch = MicroBatchId{pipeline.first_micro_batch};
      program_.actions.push_back(action);
      ends.last_of_stage[stage] = index;
      ends.last_of_rank[static_cast<std::size_t>(schedule.rank_of_stage[stage])] = index;
      so_far_.known.push_back(at(times.stages[stage].last));
      stands_for_.push_back({p, s});
    }
    for (std::size_t r = 0; r < times.ranks.size(); ++r) add_last_send(p, r, times, ends);
    for (const PipelineTimes::Rank& rank : times.ranks) {
      so_far_.first.push_back(rank.first < 0 ? SimTime::max() : at(rank.first));
      so_far_.busy.emplace_back(rank.busy);
    }
    ends_.push_back(std::move(ends));
  }

  // What keeps a rank busy behind its last weight gradient, where senders block.
  void add_last_send(std::size_t p, std::size_t rank, const PipelineTimes& times,
                     const PipelineEnds& ends) {
    const std::uint32_t last = ends.last_of_rank[rank];
    if (at(times.ranks[rank].free) <= so_far_.known[last]) return;
    Action action = program_.actions[last];
    action.kind = ActionKind::kSendGradient;
    action.waits_for = last;
    program_.actions.push_back(action);
    so_far_.known.push_back(at(times.ranks[rank].free));
    stands_for_.push_back({p, stands_for_[last].stage});
  }

  void reduce(std::size_t p) {
    const Schedule& schedule = inputs_[p].schedule;
    for (const int s : orders_[p]) {
      if (reduces_at_end(schedule, options_, s)) continue;
      const auto stage = static_cast<std::size_t>(s);
      ends_[p].reduction_of_stage[stage] = static_cast<std::uint32_t>(program_.actions.size());
      Action action;
      action.kind = ActionKind::kReduceGradient;
      action.stage = StageId{static_cast<std::uint16_t>(program_.pipelines[p].first_stage + s)};
      action.waits_for = ends_[p].last_of_stage[stage];
      action.group = GroupId{static_cast<std::uint32_t>(s)};
      program_.actions.push_back(action);
    }
  }

  const std::vector<PipelineInput>& inputs_;
  const LoweringOptions& options_;
  Program program_;
  std::vector<std::vector<int>> orders_;
  struct StandsFor {
    std::size_t pipeline = 0;
    int stage = 0;
  };
  std::vector<StandsFor> stands_for_;  // the first actions
  std::vector<PipelineEnds> ends_;
  RunSoFar so_far_;
};

}  // namespace

bool can_simulate_schedule(const ExecutorModel& executor) {
  return straight_replay_is_exact(executor) ||
         (executor.issue == IssueOrder::kEager && transfers_occupy_senders_at_most(executor));
}

bool can_simulate_schedule(const Schedule& schedule, const ExecutorModel& executor) {
  return can_simulate_schedule(executor) && schedule.rule == RunTimeRule::kNone;
}

ReplayBuffers::ReplayBuffers() : contents_(std::make_unique<Contents>()) {}
ReplayBuffers::~ReplayBuffers() = default;

TimelineSummary simulate_schedule(const std::vector<RolledInput>& pipelines,
                                  const LoweringOptions& options, const StagePrices& prices,
                                  const ExecutorModel& executor, ReplayBuffers& buffers) {
  return simulate_schedule_counted(pipelines, options, prices, executor, buffers).summary;
}

std::shared_ptr<const ReplaySteps> kept_steps(const RolledInput& pipeline) {
  auto steps = std::make_shared<ReplaySteps>();
  steps->make(*pipeline.schedule, pipeline.micro_batches.size());
  steps->note_writers(*pipeline.schedule);
  return steps;
}

TimelineSummary simulate_schedule(const std::vector<RolledInput>& pipelines,
                                  const LoweringOptions& options, const StagePrices& prices,
                                  const ExecutorModel& executor) {
  ReplayBuffers buffers;
  return simulate_schedule(pipelines, options, prices, executor, buffers);
}

namespace {

// Those of the buffers are made anew, unless a timeline still looks at them.
std::shared_ptr<const ReplaySteps> steps_of(const RolledInput& pipeline, ReplayBuffers& buffers,
                                            bool with_writers) {
  if (pipeline.steps) return pipeline.steps;
  std::shared_ptr<ReplaySteps>& own = buffers.contents().steps;
  if (!own || own.use_count() > 1) own = std::make_shared<ReplaySteps>();
  own->make(*pipeline.schedule, pipeline.micro_batches.size());
  if (with_writers) own->note_writers(*pipeline.schedule);
  return own;
}

RolledReplay::Sends sends_of(const LoweringOptions& options, const ExecutorModel& executor) {
  if (!options.transfers) return RolledReplay::Sends::kAtOnce;
  return executor.transfer == TransferMode::kAsync ? RolledReplay::Sends::kInBackground
                                                   : RolledReplay::Sends::kBlocking;
}

// Replays the pipelines one by one; with `timelines`, keeps when every step ran.
class PipelineReplays {
 public:
  PipelineReplays(const std::vector<RolledInput>& pipelines, const LoweringOptions& options,
                  const StagePrices& prices, const ExecutorModel& executor, const EndOfStep& end)
      : pipelines_(pipelines),
        options_(options),
        sends_(sends_of(options, executor)),
        tables_(end.tables()),
        table_(end.tables(), prices, executor) {}

  void run(ReplayBuffers& buffers, bool jumps, std::vector<RolledTimeline>* timelines) {
    std::int64_t actions = 0;
    for (std::size_t p = 0; p < pipelines_.size(); ++p) {
      const Schedule& schedule = *pipelines_[p].schedule;
      RolledReplay replay(schedule, steps_of(pipelines_[p], buffers, timelines != nullptr),
                          pipelines_[p].micro_batches, tables_, p, table_, options_.recompute,
                          sends_, buffers.contents());
      ReplayLog log{std::vector<std::vector<std::int64_t>>(replay.ranks.size()), {}};
      replay.jumps = jumps;
      if (timelines != nullptr) replay.log = &log;
      actions += 4 * replay.actions();
      table_.check_sum(static_cast<std::size_t>(actions));
      if (!replay.run()) {
        throw_bad_input(schedule.name + ": the lists cannot be executed: nothing can run");
      }
      times.push_back(replay.times());
      if (timelines != nullptr) timelines->emplace_back(replay, schedule, std::move(log));
      work.steps += replay.work.steps;
      work.skipped += replay.work.skipped;
      work.jumps += replay.work.jumps;
    }
  }

  std::vector<PipelineTimes> times;
  ReplayWork work;

 private:
  const std::vector<RolledInput>& pipelines_;
  const LoweringOptions& options_;
  RolledReplay::Sends sends_;
  const Program& tables_;
  PriceTable table_;
};

}  // namespace

CountedSimulation simulate_schedule_counted(const std::vector<RolledInput>& pipelines,
                                            const LoweringOptions& options,
                                            const StagePrices& prices,
                                            const ExecutorModel& executor, ReplayBuffers& buffers,
                                            bool jumps) {
  const std::vector<PipelineInput> inputs = with_one_per_run(pipelines);
  EndOfStep end(inputs, options);
  PipelineReplays replays(pipelines, options, prices, executor, end);
  replays.run(buffers, jumps, nullptr);
  return {end.finish(replays.times, prices, executor), replays.work};
}

std::optional<CountedSimulation> simulate_meetings(const std::vector<RolledInput>& pipelines,
                                                   const LoweringOptions& options,
                                                   const MeetingLists& lists,
                                                   const StagePrices& prices,
                                                   const ExecutorModel& executor, bool jumps) {
  const std::vector<PipelineInput> inputs = with_one_per_run(pipelines);
  EndOfStep end(inputs, options);
  const PriceTable table(end.tables(), prices, executor);
  table.check_sum(static_cast<std::size_t>(lists.actions));
  MeetingReplay replay(lists, end.tables(), table);
  replay.jumps = jumps;
  if (!replay.run()) return std::nullopt;
  return CountedSimulation{end.finish(replay.times(), prices, executor), replay.work};
}

namespace {

// With when every step ran, for `tell` to add to the result.
template <class Result, class Tell>
Result simulate_with_timelines(const std::vector<RolledInput>& pipelines,
                               const LoweringOptions& options, const StagePrices& prices,
                               const ExecutorModel& executor, ReplayBuffers& buffers,
                               const Tell& tell) {
  const std::vector<PipelineInput> inputs = with_one_per_run(pipelines);
  EndOfStep end(inputs, options);
  PipelineReplays replays(pipelines, options, prices, executor, end);
  std::vector<RolledTimeline> timelines;
  timelines.reserve(pipelines.size());
  replays.run(buffers, true, &timelines);
  Timeline timeline;
  Result result;
  result.summary = end.finish(replays.times, prices, executor, &timeline);
  result.work = replays.work;
  ExecutorModel copies;
  copies.host_link = executor.host_link;
  copies.transfer = executor.transfer;
  tell(timelines, StepEnd{end.tables(), timeline, end.stand_ins(replays.times), copies}, result);
  return result;
}

}  // namespace

AttributedSimulation simulate_schedule_attributed(const std::vector<RolledInput>& pipelines,
                                                  const LoweringOptions& options,
                                                  const StagePrices& prices,
                                                  const ExecutorModel& executor,
                                                  ReplayBuffers& buffers, int attributed) {
  return simulate_with_timelines<AttributedSimulation>(
      pipelines, options, prices, executor, buffers,
      [&](const auto& timelines, const StepEnd& end, AttributedSimulation& result) {
        result.ranks = attribute_idle(timelines, end, result.summary.busy, attributed);
      });
}

TracedSimulation simulate_schedule_traced(const std::vector<RolledInput>& pipelines,
                                          const LoweringOptions& options, const StagePrices& prices,
                                          const ExecutorModel& executor, ReplayBuffers& buffers) {
  return simulate_with_timelines<TracedSimulation>(
      pipelines, options, prices, executor, buffers,
      [](const auto& timelines, const StepEnd& end, TracedSimulation& result) {
        result.on_chain = time_on_chain(timelines, end);
      });
}

namespace {

bool rules_apply(const std::vector<RolledInput>& pipelines, const LoweringOptions& options,
                 const ExecutorModel& executor) {
  return straight_replay_is_exact(executor) && options.issue == IssueOrder::kEager &&
         std::all_of(pipelines.begin(), pipelines.end(), [](const RolledInput& pipeline) {
           return pipeline.schedule->rule != RunTimeRule::kNone &&
                  has_varuna_order(*pipeline.schedule);
         });
}

}  // namespace

std::optional<RuledSimulation> simulate_by_rule(const std::vector<RolledInput>& pipelines,
                                                const LoweringOptions& options,
                                                const StagePrices& prices,
                                                const ExecutorModel& executor,
                                                ReplayBuffers& buffers, int told) {
  if (!rules_apply(pipelines, options, executor)) return std::nullopt;
  const std::vector<PipelineInput> inputs = with_one_per_run(pipelines);
  EndOfStep end(inputs, options);
  const PriceTable table(end.tables(), prices, executor);
  std::vector<PipelineTimes> times;
  RuledSimulation result;
  std::int64_t actions = 0;
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    const Schedule& schedule = *pipelines[p].schedule;
    RuleReplay replay(schedule, pipelines[p].micro_batches, end.tables(), p, table,
                      options.transfers, buffers.contents().arrivals_by_rule);
    if (!replay.can_run()) return std::nullopt;
    replay.set_stash(pipelines[p].micro_batches, prices);
    actions += 3 * replay.actions();  // with transfers
    table.check_sum(static_cast<std::size_t>(actions));
    if (!replay.run()) {
      throw_bad_input(schedule.name + ": the lists cannot be executed: nothing can run");
    }
    times.push_back(replay.times());
    if (p >= static_cast<std::size_t>(told)) continue;
    std::vector<RankLiveness> held = replay.held();
    std::move(held.begin(), held.end(), std::back_inserter(result.held));
    const std::vector<Bytes> stash = replay.most_stash();
    result.stash.insert(result.stash.end(), stash.begin(), stash.end());
  }
  result.summary = end.finish(times, prices, executor);
  return result;
}

}  // namespace penstock
