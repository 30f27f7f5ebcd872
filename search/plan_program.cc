// From the decisions of a Plan to the lists of its distinct pipelines.
//
// The batch is divided among the replicas, each share into micro-batches of b samples, the last one
// short; replicas with equal shares are one pipeline (batch_of(), rolled_inputs()). Schedules
// stay rolled up, so nothing here grows with M but arranged ones.
//
// What a rank holds at most needs no M micro-batches either: once all blocks have entered their
// steady state, more micro-batches repeat it. enough_micro_batches() says how many show everything:
// the fill, the repetitions after which posted receives have settled (settled_after()), the drain.
// tests/search/plan_program_test.cc compares with all M micro-batches.
#include "search/plan_program.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "search/schedule_memo.h"
#include "simulator/merge_liveness.h"
#include "simulator/schedules/schedules.h"
#include "simulator/schedules/v_half_min.h"

namespace penstock {
namespace {

ScheduleShape shape_of(const Plan& plan, int micro_batches) {
  return {plan.pipeline, plan.chunks, micro_batches, plan.group, 1};
}

std::vector<MicroBatchRun> runs_of(const Batch& batch, const ReplicaBatch& replicas) {
  std::vector<MicroBatchRun> runs;
  runs.reserve(replicas.runs.size());
  for (const ShapeRun& run : replicas.runs) {
    const MicroBatchShape& shape = batch.shapes[static_cast<std::size_t>(run.shape)];
    MicroBatch micro_batch;
    micro_batch.samples = shape.samples;
    micro_batch.sequence_length = shape.tokens;
    micro_batch.shape = run.shape;
    runs.push_back({run.count, micro_batch});
  }
  return runs;
}

using MadeSchedule = std::shared_ptr<const Schedule>;
MadeSchedule schedule_of(const Plan& plan, int micro_batches, ScheduleMemo* memo) {
  const ScheduleKind* kind = find_schedule(plan.schedule);
  const ScheduleShape shape = shape_of(plan, micro_batches);
  if (memo != nullptr && kind != nullptr) return memo->get(*kind, shape);
  return std::make_shared<const Schedule>(make_schedule(plan.schedule, shape));
}

std::vector<MicroBatch> written_out(const std::vector<MicroBatchRun>& runs) {
  std::vector<MicroBatch> list;
  for (const MicroBatchRun& run : runs) {
    list.insert(list.end(), static_cast<std::size_t>(run.count), run.each);
  }
  return list;
}

// One micro-batch more than this repeats the steady state, of which so many repetitions are kept;
// or, where all are held, adds one to every count. On the V and with two copies what is posted
// settles only when both directions have filled.
int settled_after(const ScheduleKind& kind, const Plan& plan) {
  return kind.map == StageMap::kLoop ? 3 : plan.pipeline;
}

// Whether the block takes in as many micro-batches as it finishes.
bool is_steady(const Schedule& schedule, const ScheduleBlock& block) {
  int forwards = 0, completed = 0;
  for (std::uint32_t at = block.begin; at < block.end; ++at) {
    const ActionKind kind = schedule.actions[at].kind;
    forwards += kind == ActionKind::kForward ? 1 : 0;
    completed += completes_gradient(kind) ? 1 : 0;
  }
  return forwards > 0 && forwards == completed;
}

// The repetitions of the steady state that all ranks have, and what one of them takes.
struct Steady {
  int repetitions = 0;
  int micro_batches = 0;
};
Steady steady_of(const Schedule& schedule) {
  Steady steady{std::numeric_limits<int>::max(), 0};
  for (std::size_t r = 0; r + 1 < schedule.begin.size(); ++r) {
    int repetitions = 0;
    for (std::size_t b = schedule.begin[r]; b < schedule.begin[r + 1]; ++b) {
      const ScheduleBlock& block = schedule.blocks[b];
      if (static_cast<int>(block.repeat) <= repetitions || !is_steady(schedule, block)) continue;
      repetitions = static_cast<int>(block.repeat);
      steady.micro_batches = std::abs(block.advance) * schedule.copies;
    }
    steady.repetitions = std::min(steady.repetitions, repetitions);
  }
  return steady;
}

// With groups of micro-batches the steady state repeats group by group: two of them and what the
// last one lacks.
int enough_groups(const ScheduleKind& kind, const Plan& plan, int micro_batches) {
  const int rounds = std::max(1, micro_batches / plan.pipeline);
  const bool ragged = plan.group > 0 || kind.ragged_groups;
  const int group = plan.group > 0 ? plan.group : ragged ? plan.pipeline : micro_batches / rounds;
  const int groups = ragged ? 3 : 2;
  return micro_batches <= groups * group ? micro_batches : groups * group + micro_batches % group;
}

bool repeats_by_groups(const ScheduleKind& kind) {
  return kind.most_chunks == 0 && !kind.holds_all_micro_batches;
}

int enough_micro_batches(const ScheduleKind& kind, const Plan& plan, int micro_batches) {
  if (kind.enough_micro_batches != nullptr) return kind.enough_micro_batches(plan.pipeline);
  if (kind.holds_all_micro_batches) return plan.pipeline + 1;
  if (repeats_by_groups(kind)) return enough_groups(kind, plan, micro_batches);
  const Steady steady = steady_of(kind.generate(shape_of(plan, micro_batches)));
  int enough = micro_batches;
  for (int left = steady.repetitions; left > settled_after(kind, plan); --left) {
    const int fewer = enough - steady.micro_batches;
    if (!why_no_schedule(kind, shape_of(plan, fewer)).empty()) break;
    enough = fewer;
  }
  return enough;
}

// Every count by so many times what the next one has more.
void grow(std::vector<std::int32_t>& counts, const std::vector<std::int32_t>& next, int times) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += times * (next[i] - counts[i]);
}

}  // namespace

std::string why_no_program(const Plan& plan) {
  const ScheduleKind* kind = find_schedule(plan.schedule);
  if (kind == nullptr) return "unknown schedule '" + plan.schedule + "'";
  if (kind->is_automatic() && plan.has_unequal_replicas()) {
    return plan.schedule + " is arranged for replicas that are alike, but these are unequal";
  }
  const auto why_not = [&](const ReplicaLoad& load) {
    return why_no_schedule(*kind, shape_of(plan, load.micro_batches));
  };
  // Mostly all have the same: asked for every candidate of a search.
  const ReplicaLoad first = first_load(plan);
  if (first.replicas == plan.data) return why_not(first);
  for (const ReplicaLoad& load : replica_loads(plan)) {
    if (auto reason = why_not(load); !reason.empty()) return reason;
  }
  return "";
}

std::vector<RolledInput> rolled_inputs(const Plan& plan) {
  const Batch batch = batch_of(plan);
  std::vector<RolledInput> inputs;
  for (const ReplicaBatch& replicas : batch.replicas) {
    inputs.push_back({nullptr, runs_of(batch, replicas), replicas.replicas});
  }
  return inputs;
}

PlanSchedules schedules_of(const Plan& plan, ScheduleMemo* memo) {
  PlanSchedules result;
  const auto loads = replica_loads(plan);
  result.pipelines = rolled_inputs(plan);
  result.schedules.reserve(loads.size());  // `pipelines` points into it
  for (std::size_t p = 0; p < loads.size(); ++p) {
    const ScheduleShape shape = shape_of(plan, loads[p].micro_batches);
    const bool kept = memo != nullptr && ScheduleMemo::keeps(*find_schedule(plan.schedule), shape);
    result.schedules.push_back(kept ? *schedule_of(plan, loads[p].micro_batches, memo)
                                    : make_schedule(plan.schedule, shape));
    result.pipelines[p].schedule = &result.schedules.back();
  }
  return result;
}

PlanSchedules schedules_in(const PlanFile& file) {
  const Program& program = file.program;
  const ScheduleKind* kind = find_schedule(program.schedule);
  const bool keeps_recomputes = kind != nullptr && kind->recomputes;
  std::vector<std::vector<ComputeAction>> lists(static_cast<std::size_t>(program.ranks()));
  for (const Action& action : program.actions) {
    const bool dropped = action.kind == ActionKind::kRecompute && !keeps_recomputes;
    if (!is_compute(action.kind) || action.kind == ActionKind::kOptimizer || dropped) continue;
    const Stage& stage = program.stages[action.stage.value];
    const Pipeline& pipeline = program.pipelines[static_cast<std::size_t>(stage.pipeline)];
    lists[static_cast<std::size_t>(stage.rank.value)].push_back(
        {action.kind, action.overlaps_next,
         StageId{static_cast<std::uint16_t>(action.stage.value - pipeline.first_stage)},
         MicroBatchId{action.micro_batch.value - pipeline.first_micro_batch}});
  }
  PlanSchedules result;
  result.schedules.reserve(program.pipelines.size());
  for (const Pipeline& pipeline : program.pipelines) {
    const auto first = lists.begin() + pipeline.first_rank;
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(pipeline.stages));
    for (int s = 0; s < pipeline.stages; ++s) ranks.push_back(file.plan.rank_of(s));
    Schedule& schedule = result.schedules.emplace_back(
        schedule_of_lists(program.schedule, static_cast<int>(pipeline.micro_batches),
                          std::move(ranks), {first, first + pipeline.ranks}));
    schedule.copies = pipeline.copies;
    schedule.rule = program.rule;
    RolledInput input{&schedule, {}, pipeline.replicas};
    const auto begin = program.micro_batches.begin() + pipeline.first_micro_batch;
    std::for_each(begin, begin + pipeline.micro_batches, [&](const MicroBatch& micro_batch) {
      auto& runs = input.micro_batches;
      if (runs.empty() || !(runs.back().each == micro_batch)) runs.push_back({0, micro_batch});
      ++runs.back().count;
    });
    result.pipelines.push_back(std::move(input));
  }
  return result;
}

LoweringOptions lowering_of(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                            const ExecutorModel& executor) {
  LoweringOptions options;
  options.recompute = recomputes;
  options.issue = executor.issue;
  options.step_actions = true;
  options.reduce_gradients = plan.weight_copies() > 1 && !plan.reduces_by_section();
  options.unshard = plan.zero1 && plan.weight_copies() > 1 && !plan.gathers_by_section();
  options.offload = plan.offload_optimizer;
  options.optimizer = executor.optimizer;
  for (const PlanTie& tie : ties) options.tied.push_back({tie.name, tie.stages});
  return options;
}

Program program_of(const PlanSchedules& schedules, const LoweringOptions& options) {
  std::vector<PipelineInput> pipelines;
  for (const RolledInput& pipeline : schedules.pipelines) {
    pipelines.push_back(
        {*pipeline.schedule, written_out(pipeline.micro_batches), pipeline.replicas});
  }
  return lower(pipelines, options);
}

int telling_micro_batches(const Plan& plan) {
  const int micro_batches = first_load(plan).micro_batches;
  const int enough = enough_micro_batches(*find_schedule(plan.schedule), plan, micro_batches);
  return std::min(enough, micro_batches);
}

namespace {

int counted_micro_batches(const ScheduleKind& kind, const Plan& plan, int micro_batches) {
  if (kind.enough_micro_batches != nullptr) {
    return std::min(micro_batches, kind.enough_micro_batches(plan.pipeline));
  }
  if (repeats_by_groups(kind)) return enough_groups(kind, plan, micro_batches);
  // Fill and drain take fewer than 2 P V; the rest repeats one by one on the loop, two by two on
  // the V and P by P with two copies.
  const int enough = 2 * plan.pipeline * (plan.chunks + 1);
  const int period = kind.map == StageMap::kLoop ? 1
                     : kind.map == StageMap::kV  ? 2
                                                 : 2 * plan.pipeline;
  if (kind.holds_all_micro_batches || micro_batches <= enough) return micro_batches;
  return enough + (micro_batches - enough) % period;
}

MadeSchedule counted_schedule(const Plan& plan, ScheduleMemo* memo = nullptr) {
  return schedule_of(plan, counted_micro_batches(plan), memo);
}

// Of a replica with so many micro-batches; `counted`: as many as tell what it holds.
WaitingReceives waiting_of(const Plan& plan, int micro_batches, const Schedule& counted,
                           ScheduleMemo* memo = nullptr) {
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  const int telling = std::min(enough_micro_batches(kind, plan, micro_batches), micro_batches);
  WaitingReceives waiting = telling == counted.micro_batches
                                ? waiting_receives(counted)
                                : waiting_receives(*schedule_of(plan, telling, memo));
  if (kind.holds_all_micro_batches && telling > plan.pipeline) {
    const int more = micro_batches - telling;
    const WaitingReceives one_more = waiting_receives(*schedule_of(plan, telling + 1, memo));
    grow(waiting.activations, one_more.activations, more);
    grow(waiting.gradients, one_more.gradients, more);
  }
  return waiting;
}

// Of the replicas that take a sample less, if that is a micro-batch less; else 0.
int fewer_micro_batches(const Plan& plan) {
  if (!plan.has_even_batch() || plan.has_unequal_replicas()) return 0;
  const int samples = plan.global_batch / plan.data;
  const bool differ = plan.global_batch % plan.data > 0 && samples % plan.micro_batch_size == 0;
  return differ ? samples / plan.micro_batch_size : 0;
}

// Whether a rank can hold more with so many micro-batches than with one more. With equal groups
// their size follows from the number: interleaved, P = 2, has two groups of 2 with 4 of them and
// one of 3 with 3. On the V that happens before there is a steady state.
bool may_hold_more(const ScheduleKind& kind, const Plan& plan, int micro_batches) {
  if (repeats_by_groups(kind)) return plan.group == 0 && !kind.ragged_groups;
  return kind.map == StageMap::kV && micro_batches < 2 * plan.pipeline;
}

}  // namespace

int counted_micro_batches(const Plan& plan) {
  return counted_micro_batches(*find_schedule(plan.schedule), plan, first_load(plan).micro_batches);
}

int counted_of_fewer(const Plan& plan) {
  const int fewer = fewer_micro_batches(plan);
  if (fewer == 0) return 0;
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  return may_hold_more(kind, plan, fewer) ? counted_micro_batches(kind, plan, fewer) : 0;
}

HeldCounts least_held_of(const Plan& plan) { return PlanCounts(plan).least(); }

HeldCounts exactly_held_of(const Plan& plan) { return PlanCounts(plan).exact(); }

std::vector<RankLiveness> liveness_of(const Plan& plan) {
  const MadeSchedule counted = counted_schedule(plan);
  std::vector<RankLiveness> ranks =
      liveness(*counted, waiting_of(plan, first_load(plan).micro_batches, *counted));
  if (const int fewer = counted_of_fewer(plan); fewer > 0) {
    const MadeSchedule other = schedule_of(plan, fewer, nullptr);
    merge_liveness(ranks, liveness(*other, waiting_of(plan, fewer_micro_batches(plan), *other)));
  }
  return ranks;
}

std::vector<RankLiveness> liveness_of(const PlanSchedules& schedules) {
  std::vector<RankLiveness> ranks = liveness(*schedules.pipelines.front().schedule);
  for (std::size_t p = 1; p < schedules.pipelines.size(); ++p) {
    merge_liveness(ranks, liveness(*schedules.pipelines[p].schedule));
  }
  return ranks;
}

const Schedule& PlanCounts::schedule() {
  if (!schedule_) schedule_ = counted_schedule(plan_, memo_);
  return *schedule_;
}
HeldCounts PlanCounts::least() {
  const auto alike = held_as_in_lists(*find_schedule(plan_.schedule),
                                      shape_of(plan_, counted_micro_batches(plan_)));
  return least_held(alike ? *alike : schedule());
}
HeldCounts PlanCounts::exact() {
  const WaitingReceives waiting =
      waiting_of(plan_, first_load(plan_).micro_batches, schedule(), memo_);
  const int fewer = counted_of_fewer(plan_);
  if (fewer == 0) return exactly_held(schedule(), waiting);
  const MadeSchedule other = schedule_of(plan_, fewer, memo_);
  const WaitingReceives of_other = waiting_of(plan_, fewer_micro_batches(plan_), *other, memo_);
  const std::array<CountedReplica, 2> replicas{{{schedule(), waiting}, {*other, of_other}}};
  return exactly_held(replicas);
}

}  // namespace penstock
