// One schedule, replayed by the cheapest way that answers what was asked: rolled up, so that no
// list of M micro-batches is made; else as a Program in one pass; with drawings, samples or files
// as a whole timeline. The numbers are the same in all of them (tests/simulator/engines_test.cc).
// Before any of it, what would take hours or gigabytes is refused.
#include "cli/reports/replayed_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "report/gantt.h"
#include "simulator/events/executed_order.h"
#include "simulator/liveness.h"
#include "simulator/lower.h"
#include "simulator/meeting_lists.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"
#include "simulator/stash_bytes.h"
#include "simulator/steady_program.h"

namespace penstock {
namespace {

// Actions replayed one by one, of about 80 bytes each; a period is looked for in half as many, of
// two Programs at once.
constexpr std::int64_t kMostReplayed = std::int64_t{1} << 24;

// Of a schedule of so many micro-batches; without costs all are alike.
std::vector<MicroBatch> micro_batches_of(int count, const ScheduleCosts* costs) {
  std::vector<MicroBatch> list;
  if (costs != nullptr) {
    for (const MicroBatchRun& run : costs->micro_batches) {
      list.insert(list.end(), static_cast<std::size_t>(run.count), run.each);
    }
  }
  list.resize(static_cast<std::size_t>(count));
  return list;
}

Program lowered(Schedule schedule, const LoweringOptions& options,
                const ScheduleCosts* costs = nullptr) {
  PipelineInput input;
  input.micro_batches = micro_batches_of(schedule.micro_batches, costs);
  input.schedule = std::move(schedule);
  std::vector<PipelineInput> pipelines;
  pipelines.push_back(std::move(input));
  return lower(pipelines, options);
}

PipelineCsvForm form_of(const ScheduleOptions& given) {
  return parse_word<PipelineCsvForm>("--csv-form", given.csv_form.value_or("compute_only"),
                                     {{"compute_only", PipelineCsvForm::kComputeOnly},
                                      {"compute_comms", PipelineCsvForm::kComputeComms}});
}

std::string csv_text(const ScheduleOptions& given, const Subject& subject,
                     const Schedule& schedule) {
  if (subject.shape.slices > 1) {
    bad_option("--csv", "PyTorch's CSV has whole micro-batches, and no slices of them",
               "leave it out");
  }
  if (form_of(given) == PipelineCsvForm::kComputeOnly) return write_pipeline_csv(schedule);
  if (subject.holds_transfers()) {
    if (subject.file->has_copies) {
      bad_option("--csv-form",
                 given.name + " has LOAD or STORE, which PyTorch's CSV has no cell for",
                 "leave out --csv, or take them out of the file");
    }
    return write_pipeline_csv(program_of(*subject.file, given.name));
  }
  // PyTorch's own order, whatever the executor. It reduces gradients only where the file says so.
  LoweringOptions options;
  options.step_actions = options.reduce_gradients = true;
  return write_pipeline_csv(lowered(schedule, options));
}

LoweringOptions lowering_for(const Subject& subject, const ScheduleCosts& costs,
                             const ExecutorModel& executor) {
  LoweringOptions options;
  options.recompute = costs.recompute && !subject.recomputes();
  options.issue = executor.issue;
  return options;
}

Program program_for(const ScheduleOptions& given, const Subject& subject, Schedule schedule,
                    const ScheduleCosts& costs, const ExecutorModel& executor) {
  if (!subject.holds_transfers()) {
    return lowered(std::move(schedule), lowering_for(subject, costs, executor), &costs);
  }
  if (subject.file->has_copies && costs.weight_slots == 0) {
    bad_option("--cost-file", given.name + " has LOAD or STORE, and nothing says what they take",
               "add \"weight_slots\" to a cost file (docs/schedules_without_a_model.md)");
  }
  Program program = program_of(*subject.file, given.name, costs.recompute, costs.weight_slots);
  program.micro_batches = micro_batches_of(schedule.micro_batches, &costs);
  return program;
}

// Whether the rolled-up lists say all that is asked, so that no Program of M micro-batches is made.
bool stays_rolled_up(const ScheduleOptions& given, const Subject& subject,
                     const ScheduleCosts& costs) {
  return !given.is_drawn() && !costs.has_bytes && !given.slow.given() && !given.jitter.given() &&
         !subject.holds_transfers();
}
bool knows_rolled_up(const Schedule& schedule, const ExecutorModel& executor) {
  return executor.issue == IssueOrder::kEager && can_simulate_schedule(schedule, executor);
}

void set_times(ScheduleResult& result, const TimelineSummary& summary) {
  result.makespan = summary.makespan;
  result.longest_span = summary.longest_span;
  result.ideal = summary.ideal;
}

void set_stash(ScheduleResult& result, const std::vector<RankLiveness>& ranks) {
  for (const RankLiveness& rank : ranks) result.peak_stash_chunks.push_back(rank.peak_chunks);
}

// What is held follows from the order of compute alone, whatever receives wait.
void set_rolled_stash(ScheduleResult& result, const Schedule& schedule) {
  const std::vector<std::int32_t> none(schedule.rank_of_stage.size(), 0);
  set_stash(result, liveness(schedule, WaitingReceives{none, none}));
}

RolledInput rolled_up(const Schedule& schedule, const ScheduleCosts& costs) {
  if (costs.micro_batches.empty()) return {&schedule, {{schedule.micro_batches, {}}}};
  return {&schedule, costs.micro_batches};
}

void replay_rolled_up(const Schedule& schedule, const LoweringOptions& options,
                      const ScheduleCosts& costs, const ExecutorModel& executor,
                      ScheduleResult& result) {
  set_rolled_stash(result, schedule);
  const RolledInput input = rolled_up(schedule, costs);
  set_times(result, simulate_schedule({input}, options, costs.prices, executor));
  result.actions = lowered_actions(schedule, options);
}

// Likewise of a schedule whose rule changes the order while it runs. False when its Program has to
// be written out.
bool replay_rule_rolled_up(const Schedule& schedule, const LoweringOptions& options,
                           const ScheduleCosts& costs, const ExecutorModel& executor,
                           ScheduleResult& result) {
  const RolledInput input = rolled_up(schedule, costs);
  ReplayBuffers buffers;
  const auto ruled = simulate_by_rule({input}, options, costs.prices, executor, buffers);
  if (!ruled) return false;
  set_stash(result, ruled->held);
  set_times(result, ruled->summary);
  result.actions = lowered_actions(schedule, options);
  return true;
}

// Likewise where ranks meet for their transfers. False where those deadlock, too.
bool replay_meetings(const ManyMicroBatches& many, const LowerFewer& lower_fewer,
                     const Schedule& schedule, const LoweringOptions& options,
                     const ScheduleCosts& costs, const ExecutorModel& executor,
                     ScheduleResult& result) {
  if (!ranks_meet(executor)) return false;
  const auto lists = meeting_lists(many, lower_fewer);
  if (lists == nullptr) return false;
  const auto met =
      simulate_meetings({rolled_up(schedule, costs)}, options, *lists, costs.prices, executor);
  if (!met) return false;
  set_rolled_stash(result, schedule);
  set_times(result, met->summary);
  result.actions = lists->actions;
  return true;
}

// Likewise by Programs of few micro-batches, for executors that the rolled-up replay does not know.
// False when all of them have to be written out.
bool replay_by_few(const Subject& subject, const Schedule& schedule, const ScheduleCosts& costs,
                   const ExecutorModel& executor, ScheduleResult& result) {
  const ScheduleShape& shape = subject.shape;
  if (subject.kind == nullptr || subject.kind->is_automatic() || !costs.micro_batches.empty()) {
    return false;
  }
  const auto lower_fewer = [&](std::int64_t fewer) {
    ScheduleShape smaller = shape;
    smaller.micro_batches -= static_cast<int>(fewer) / shape.slices;
    return lowered(subject.kind->generate(smaller), lowering_for(subject, costs, executor));
  };
  ManyMicroBatches many = many_micro_batches(schedule.micro_batches, shape.ranks, shape.chunks,
                                             shape.group, schedule.copies);
  many.unit *= shape.slices;  // a slice is an entry of its own
  many.most_at_once = schedule.micro_batches * (kMostReplayed / 2) /
                      lowered_actions(schedule, lowering_for(subject, costs, executor));
  if (replay_meetings(many, lower_fewer, schedule, lowering_for(subject, costs, executor), costs,
                      executor, result)) {
    return true;
  }
  const auto steady = steady_program(many, lower_fewer, costs.prices, executor);
  if (!steady) return false;
  set_rolled_stash(result, schedule);
  set_times(result, steady->summary());
  result.actions = steady->actions();
  return true;
}

Schedule schedule_for(const ScheduleOptions& given, const Subject& subject,
                      const ScheduleCosts& costs, const ExecutorModel& executor) {
  if (subject.file) return schedule_of(*subject.file, given.name);
  if (!subject.kind->is_automatic()) return subject.kind->generate(subject.shape);
  return given.automatic.arranged(*subject.kind, subject.shape, costs, executor);
}

void replay(const ScheduleOptions& given, const Program& program, const StagePrices& prices,
            const ExecutorModel& executor, ScheduleResult& result, ScheduleExtras& extras,
            Screen screen) {
  set_stash(result, liveness(program));
  if (!given.is_drawn()) {
    set_times(result, simulate_summary(program, prices, executor));
    return;
  }
  const Timeline timeline = simulate(program, prices, executor);
  set_times(result, summarize(program, timeline));
  if (given.print) extras.drawing = gantt(program, timeline, screen);
  if (given.output) extras.step = step_of(program, timeline, prices, executor, result);
}

// The same of a schedule whose rule changes the order while it runs: what it holds and does is told
// of the order that came about.
void replay_by_rule(const ScheduleOptions& given, const Program& program, const StagePrices& prices,
                    const ExecutorModel& executor, ScheduleResult& result, ScheduleExtras& extras,
                    Screen screen) {
  const Timeline timeline = simulate(program, prices, executor);
  set_times(result, summarize(program, timeline));
  if (!given.is_drawn()) {
    result.peak_stash_chunks = peak_stash(program, timeline);
    return;
  }
  const ExecutedProgram executed = as_executed(program, timeline);
  set_stash(result, liveness(executed.program));
  if (given.print) {
    extras.lists = action_lists(executed.program);
    extras.drawing = gantt(executed.program, executed.timeline, screen);
  }
  if (given.output) {
    extras.step = step_of(executed.program, executed.timeline, prices, executor, result);
  }
}

// The schedule stays as it is; a scenario changes what its actions cost.
Uncertainty uncertainty_of(const ScheduleOptions& given, const Program& program,
                           const ExecutorModel& executor, StagePrices& prices) {
  Uncertainty uncertainty;
  if (given.slow.given()) {
    uncertainty.scenario = slow_down(given.slow.scenario(), program, executor, prices);
  }
  if (given.jitter.given()) uncertainty.jitter = given.jitter.sampled(program, prices, executor);
  return uncertainty;
}

// Who says how many micro-batches there are.
std::string giver_of_micro_batches(const ScheduleOptions& given, const Subject& subject,
                                   const ScheduleCosts& costs) {
  if (!costs.micro_batches.empty()) return "--cost-file";
  return subject.file ? given.name : "-M";
}

// What is written out action by action, drawn, sampled or arranged takes memory and time with every
// stage and micro-batch: refused before it is begun.
void refuse_endless(const ScheduleOptions& given, const Subject& subject,
                    const ScheduleCosts& costs) {
  constexpr std::int64_t kMostWritten = std::int64_t{1} << 22;
  const ScheduleShape& shape = subject.shape;
  const std::int64_t cells =
      std::int64_t{shape.ranks} * shape.chunks * shape.micro_batches * shape.slices;
  const bool writes = given.is_drawn() || given.csv;
  const bool arranges = subject.kind != nullptr && subject.kind->is_automatic();
  const bool replays = given.slow.given() || given.jitter.given() || costs.has_bytes;
  const std::int64_t most = writes || arranges ? kMostWritten : kMostReplayed;
  if ((!writes && !arranges && !replays) || cells <= most) return;
  bad_option(giver_of_micro_batches(given, subject, costs),
             fmt::format("{} stages times micro-batches are too many {}", cells,
                         writes     ? "to write out"
                         : arranges ? "to arrange"
                                    : "to replay one by one"),
             fmt::format("at most {}; fewer show the same, since schedules repeat", most));
}

// Where no period was found and every action has to be replayed by the general engine.
void refuse_endless_replay(const ScheduleOptions& given, const Subject& subject,
                           const Schedule& schedule, const ScheduleCosts& costs,
                           const ExecutorModel& executor) {
  const std::int64_t actions = lowered_actions(schedule, lowering_for(subject, costs, executor));
  if (actions <= kMostReplayed) return;
  const bool lists_them = !costs.micro_batches.empty();
  const std::int64_t most = schedule.micro_batches * kMostReplayed / actions / subject.shape.slices;
  bad_option(
      giver_of_micro_batches(given, subject, costs),
      fmt::format(
          "{} actions are too many to replay one by one, as executor '{}' needs where {}", actions,
          executor.name,
          lists_them ? "the micro-batches are listed" : "no part of the step is found to repeat"),
      fmt::format("{}, or --executor ideal or sender-blocks without --queues and --posted, which "
                  "take any number of micro-batches",
                  lists_them     ? fmt::format("list at most {} micro-batches", most)
                  : subject.file ? fmt::format("give a file of at most {} micro-batches", most)
                                 : fmt::format("at most -M {}", most)));
}

// A rule that the executor does not support is refused as its Program is, before it is written out.
void refuse_rule(const Subject& subject, const ScheduleCosts& costs,
                 const ExecutorModel& executor) {
  if (subject.kind == nullptr) return;
  ScheduleShape few = subject.shape;
  few.micro_batches = std::min(few.micro_batches, 2 * few.ranks * few.chunks);
  const Program program =
      lowered(subject.kind->generate(few), lowering_for(subject, costs, executor));
  (void)simulate_summary(program, costs.prices, executor);
}

}  // namespace

ReplayedSchedule replayed(const ScheduleOptions& given, const Subject& subject, Screen screen) {
  const ScheduleCosts costs = costs_of(given, subject);
  refuse_endless(given, subject, costs);
  ReplayedSchedule both;
  ScheduleResult& result = both.result;
  ScheduleExtras& extras = both.extras;
  const ExecutorModel executor = given.executor.model();
  if (executor.optimizer == OptimizerGate::kRolledBack) {
    bad_option("--optimizer", "a schedule without a model has no optimizer to roll back",
               "choose post-validation, or simulate a plan file with rolled-back");
  }
  if (costs.weight_slots > 0 && !(subject.file && subject.file->has_copies)) {
    bad_option("--cost-file",
               "it has weight_slots, and " + given.name + " keeps all stages on the device",
               "leave them out, or give lists with LOAD and RESHARD in a file");
  }
  result.is_post_validated = executor.optimizer == OptimizerGate::kPostValidation;
  result.schedule = given.name;
  result.ranks = subject.shape.ranks;
  result.chunks = subject.shape.chunks;
  result.micro_batches = subject.shape.micro_batches;
  result.slices = subject.shape.slices;
  result.costs = costs.words;
  result.executor = words_of(executor);

  Schedule schedule = schedule_for(given, subject, costs, executor);
  const bool has_rule = schedule.rule != RunTimeRule::kNone;
  result.copies = schedule.copies;
  if (given.csv) extras.csv = csv_text(given, subject, schedule);
  if (given.print && !has_rule) extras.lists = action_lists(schedule);
  if (stays_rolled_up(given, subject, costs)) {
    const LoweringOptions options = lowering_for(subject, costs, executor);
    if (knows_rolled_up(schedule, executor)) {
      replay_rolled_up(schedule, options, costs, executor, result);
      return both;
    }
    if (has_rule ? replay_rule_rolled_up(schedule, options, costs, executor, result)
                 : replay_by_few(subject, schedule, costs, executor, result)) {
      return both;
    }
    if (has_rule) refuse_rule(subject, costs, executor);
    refuse_endless_replay(given, subject, schedule, costs, executor);
  }
  const Program program = program_for(given, subject, std::move(schedule), costs, executor);
  result.actions = std::ssize(program.actions);
  StagePrices prices = costs.prices;
  extras.uncertainty = uncertainty_of(given, program, executor, prices);
  (has_rule ? replay_by_rule : replay)(given, program, prices, executor, result, extras, screen);
  result.weight_slots = costs.weight_slots;
  for (const StepPrice& step : prices.step) result.slot = std::max(result.slot, step.loaded);
  if (costs.has_bytes) {
    result.peak_stash_bytes =
        has_rule ? peak_stash_bytes(
                       as_executed(program, simulate(program, prices, executor)).program, prices)
                 : peak_stash_bytes(program, prices);
  }
  return both;
}

}  // namespace penstock
