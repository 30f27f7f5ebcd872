#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/automatic_options.h"
#include "cli/costs.h"
#include "cli/executor_options.h"
#include "cli/files.h"
#include "cli/jitter_options.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/schedule_called.h"
#include "cli/slow_options.h"
#include "cli/table_format.h"
#include "cli/verbs.h"
#include "core/error.h"
#include "core/json_reader.h"
#include "report/flat_table.h"
#include "report/gantt.h"
#include "report/schedule_report.h"
#include "report/trainers/pipeline_csv.h"
#include "report/uncertainty.h"
#include "simulator/events/executed_order.h"
#include "simulator/liveness.h"
#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"
#include "simulator/simulate_schedule.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms,C=0.5ms --print
  penstock schedule zb-h1 -P 8 -M 24 --cost F=18.522ms,I=18.086ms,W=9.337ms,C=0.601ms
  penstock schedule interleaved -P 4 -V 2 -M 8 --cost F=5ms,B=10ms --csv schedule.csv
  penstock schedule zb-auto -P 8 -M 24 --cost F=18ms,I=18ms,W=9ms,C=1ms --limit 6
  penstock schedule varuna -P 8 -M 64 --cost F=20ms,R=20ms,B=40ms,C=3ms
  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms,C=1ms --executor deepspeed --json
  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms --jitter-percent 5 --slow rank=3:1.3
  penstock schedule schedule.csv --cost F=5ms,B=10ms,C=0.5ms --print
)";

struct ScheduleOptions {
  std::string name;
  std::optional<std::string> ranks, chunks, micro_batches, group, slices, cost_file, csv, csv_form;
  std::vector<std::string> costs;
  AutomaticOptions automatic;
  ExecutorOptions executor;
  SlowOptions slow;
  JitterOptions jitter;
  TableFormatOptions format;
  bool legacy_csv = false, print = false;

  void declare(Options& options) {
    std::string known;
    for (const ScheduleKind& kind : schedule_kinds()) {
      known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", kind.name, kind.summary);
    }
    options.heading("The pipeline");
    known += "; or FILE.csv, PyTorch's pipeline CSV, which says P, V and M itself";
    options.positional("NAME", known, name);
    options.choices(schedule_names());
    options.option("-P,--ranks", "N", "pipeline ranks", ranks);
    options.option("-V,--chunks", "N",
                   "virtual stages per rank; default: the fewest that the schedule has", chunks);
    options.option("-M,--micro-batches", "N", "micro-batches per step", micro_batches);
    options.option("--group", "N",
                   "interleaved: micro-batches per group by Megatron's rule; default: PyTorch's "
                   "rule. interleaved-overlap, grouped-interleaved: default P",
                   group);
    options.option("--slices", "N", "seq-1f1b: parts that every sequence is cut into; default 1",
                   slices);
    options.flag("--legacy-csv",
                 "FILE.csv is in PyTorch's dialect of 2024: B is the input gradient, BW the whole "
                 "backward",
                 legacy_csv);
    options.heading("What it costs");
    options.repeated("--cost", "K=TIME,...",
                     "per virtual stage and micro-batch (slice): F forward, B backward (default "
                     "I + W), I input gradient, W weight gradient, R recompute before every "
                     "backward (varuna needs it), O what a forward and a backward that overlap "
                     "save (default 0); "
                     "C per transfer between ranks (default 0). Times need a unit: ns, us, ms, s",
                     costs);
    options.option("--cost-file", "FILE",
                   "costs of every stage and boundary (penstock.costs/1, see docs/user_guide.md)",
                   cost_file);
    automatic.declare(options);
    executor.declare(options);
    options.heading("What if the machine is uneven");
    slow.declare(options);
    jitter.declare(options);
    options.heading("What to print");
    options.flag("--print",
                 "also the lists of actions (with varuna as they ran) and a drawing of the step. "
                 "0F3: stage 0, forward, "
                 "micro-batch 3; (0F3;7B1): an overlap; with two copies of the weights stage P + s "
                 "is stage s of the second; with slices they are counted instead of micro-batches",
                 print);
    options.option("--csv", "FILE",
                   "write PyTorch's pipeline CSV of the schedule (- for stdout, instead of the "
                   "report)",
                   csv);
    options.option("--csv-form", "FORM",
                   "compute_only: PyTorch adds the communication (default); compute_comms: sends, "
                   "receives and reductions are in the file",
                   csv_form);
    options.choices({"compute_only", "compute_comms"});
    format.declare(options, "one row");
  }
};

const ScheduleKind& kind_named(const std::string& name) { return *find_schedule(name); }

ScheduleShape shape_of(const ScheduleOptions& given) {
  ScheduleShape shape;
  shape.ranks = parse_int("-P", required(given.ranks, "-P", "-P 4"), 1);
  shape.chunks =
      given.chunks ? parse_int("-V", *given.chunks, 1) : kind_named(given.name).fewest_chunks;
  shape.micro_batches = parse_int("-M", required(given.micro_batches, "-M", "-M 8"), 1);
  if (given.group) {
    if (!kind_named(given.name).has_groups) {
      bad_option("--group", given.name + " has no groups", "leave it out");
    }
    shape.group = parse_int("--group", *given.group, 1);
  }
  if (given.slices) {
    if (!kind_named(given.name).has_slices) {
      bad_option("--slices", given.name + " cuts no sequences", "leave it out");
    }
    shape.slices = parse_int("--slices", *given.slices, 1);
  }
  return shape;
}

// What is replayed: a schedule by name, or one from a file.
struct Subject {
  ScheduleShape shape;
  bool splits_backward = false;
  const ScheduleKind* kind = nullptr;  // of a schedule by name
  std::optional<PipelineCsv> file;

  // Whether its sends and receives stand where the file has them.
  [[nodiscard]] bool holds_transfers() const {
    return file && file->form == PipelineCsvForm::kComputeComms;
  }
  // Whether its lists hold R.
  [[nodiscard]] bool recomputes() const { return kind != nullptr && kind->recomputes; }
};

Subject generated(const ScheduleOptions& given) {
  const ScheduleKind& kind = kind_named(given.name);
  const ScheduleShape shape = shape_of(given);
  if (const std::string why = why_no_schedule(kind, shape); !why.empty()) {
    const std::string name = why.starts_with(given.name) ? "" : given.name + ": ";
    throw_bad_input(name + why + "\nhelp: penstock schedule --help lists the schedules");
  }
  if (given.legacy_csv) bad_option("--legacy-csv", "NAME is no file", "leave it out");
  given.automatic.check(given.name, &kind);
  return {shape, kind.splits_backward(), &kind, {}};
}

Subject from_file(const ScheduleOptions& given) {
  const std::pair<const char*, const std::optional<std::string>&> asked[] = {
      {"-P", given.ranks},
      {"-V", given.chunks},
      {"-M", given.micro_batches},
      {"--group", given.group},
      {"--slices", given.slices}};
  for (const auto& [name, value] : asked) {
    if (value) bad_option(name, given.name + " says it itself", "leave it out");
  }
  given.automatic.check(given.name, nullptr);
  Subject subject;
  subject.file = read_pipeline_csv(read_file(given.name), given.name,
                                   given.legacy_csv ? LegacyCsv::kTranslate : LegacyCsv::kRefuse);
  subject.shape.ranks = subject.file->ranks();
  subject.shape.chunks = subject.file->chunks;
  subject.shape.micro_batches = subject.file->micro_batches;
  for (const std::vector<Action>& list : subject.file->lists) {
    for (const Action& action : list) {
      subject.splits_backward |= action.kind == ActionKind::kWeightGradient;
    }
  }
  const bool reorders = given.executor.model().issue != IssueOrder::kEager;
  if (subject.holds_transfers() && reorders) {
    bad_option("--executor", "deepspeed has its own order of sends, and the file has one too",
               "choose rendezvous");
  }
  return subject;
}

ScheduleCosts given_costs(const ScheduleOptions& given, bool splits_backward, int stages) {
  if (!given.cost_file) return parse_costs(given.costs, splits_backward, stages);
  if (!given.costs.empty()) {
    bad_option("--cost-file", "--cost is given too", "keep one of them");
  }
  const Loaded<Json> file = load_json(*given.cost_file);
  return read_costs(file.value, *given.cost_file, splits_backward, stages);
}

ScheduleCosts costs_of(const ScheduleOptions& given, const Subject& subject) {
  ScheduleCosts costs =
      given_costs(given, subject.splits_backward, subject.shape.ranks * subject.shape.chunks);
  if (subject.recomputes() && !costs.recompute) {
    bad_option(given.cost_file ? "--cost-file" : "--cost",
               given.name + " recomputes, and R, the time that it takes, is missing",
               "add R (in a file recompute_ms), usually as long as F");
  }
  costs.words += given.automatic.words(subject.kind);
  return costs;
}

// What goes beside the numbers. A schedule of millions of actions is dropped as soon as it is
// lowered, so its texts are made before.
struct Extras {
  std::string csv, lists, drawing;
  Uncertainty uncertainty;
};

Program lowered(Schedule schedule, const LoweringOptions& options) {
  PipelineInput input;
  input.micro_batches.resize(static_cast<std::size_t>(schedule.micro_batches));
  input.schedule = std::move(schedule);
  std::vector<PipelineInput> pipelines;
  pipelines.push_back(std::move(input));
  return lower(pipelines, options);
}

PipelineCsvForm form_of(const ScheduleOptions& given) {
  if (!given.csv_form) return PipelineCsvForm::kComputeOnly;
  if (*given.csv_form == "compute_only") return PipelineCsvForm::kComputeOnly;
  if (*given.csv_form == "compute_comms") return PipelineCsvForm::kComputeComms;
  bad_option("--csv-form", fmt::format("unknown '{}'", *given.csv_form),
             did_you_mean(*given.csv_form, {"compute_only", "compute_comms"}));
}

std::string csv_text(const ScheduleOptions& given, const Subject& subject,
                     const Schedule& schedule) {
  if (subject.shape.slices > 1) {
    bad_option("--csv", "PyTorch's CSV has whole micro-batches, and no slices of them",
               "leave it out");
  }
  if (form_of(given) == PipelineCsvForm::kComputeOnly) return write_pipeline_csv(schedule);
  if (subject.holds_transfers()) return write_pipeline_csv(program_of(*subject.file, given.name));
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
  if (subject.holds_transfers()) return program_of(*subject.file, given.name, costs.recompute);
  return lowered(std::move(schedule), lowering_for(subject, costs, executor));
}

// Whether the rolled-up lists say all that is asked, so that no Program of M micro-batches is made.
bool stays_rolled_up(const ScheduleOptions& given, const Subject& subject, const Schedule& schedule,
                     const ExecutorModel& executor) {
  return !given.print && !given.slow.given() && !given.jitter.given() &&
         !subject.holds_transfers() && executor.issue == IssueOrder::kEager &&
         (schedule.rule != RunTimeRule::kNone || can_simulate_schedule(schedule, executor));
}

void set_times(ScheduleResult& result, const TimelineSummary& summary) {
  result.makespan = summary.makespan;
  result.longest_span = summary.longest_span;
  result.ideal = summary.ideal;
}

void set_stash(ScheduleResult& result, const std::vector<RankLiveness>& ranks) {
  for (const RankLiveness& rank : ranks) result.peak_stash_chunks.push_back(rank.peak_chunks);
}

void replay_rolled_up(const Schedule& schedule, const LoweringOptions& options,
                      const StagePrices& prices, const ExecutorModel& executor,
                      ScheduleResult& result) {
  const std::vector<std::int32_t> none(schedule.rank_of_stage.size(), 0);
  set_stash(result, liveness(schedule, WaitingReceives{none, none}));
  const RolledInput input{&schedule, {{schedule.micro_batches, {}}}};
  set_times(result, simulate_schedule({input}, options, prices, executor));
  result.actions = lowered_actions(schedule, options);
}

// Likewise of a schedule whose rule changes the order while it runs. False when its Program has to
// be written out.
bool replay_rule_rolled_up(const Schedule& schedule, const LoweringOptions& options,
                           const StagePrices& prices, const ExecutorModel& executor,
                           ScheduleResult& result) {
  const RolledInput input{&schedule, {{schedule.micro_batches, {}}}};
  ReplayBuffers buffers;
  const auto ruled = simulate_by_rule({input}, options, prices, executor, buffers);
  if (!ruled) return false;
  set_stash(result, ruled->held);
  set_times(result, ruled->summary);
  result.actions = lowered_actions(schedule, options);
  return true;
}

Schedule schedule_for(const ScheduleOptions& given, const Subject& subject,
                      const ScheduleCosts& costs, const ExecutorModel& executor) {
  if (subject.file) return schedule_of(*subject.file, given.name);
  if (!subject.kind->is_automatic()) return subject.kind->generate(subject.shape);
  return given.automatic.arranged(*subject.kind, subject.shape, costs, executor);
}

void replay(const ScheduleOptions& given, const Program& program, const StagePrices& prices,
            const ExecutorModel& executor, ScheduleResult& result, Extras& extras) {
  set_stash(result, liveness(program));
  if (!given.print) {
    set_times(result, simulate_summary(program, prices, executor));
    return;
  }
  const Timeline timeline = simulate(program, prices, executor);
  set_times(result, summarize(program, timeline));
  extras.drawing = gantt(program, timeline);
}

// The same of a schedule whose rule changes the order while it runs: what it holds and does is told
// of the order that came about.
void replay_by_rule(const ScheduleOptions& given, const Program& program, const StagePrices& prices,
                    const ExecutorModel& executor, ScheduleResult& result, Extras& extras) {
  const Timeline timeline = simulate(program, prices, executor);
  set_times(result, summarize(program, timeline));
  if (!given.print) {
    result.peak_stash_chunks = peak_stash(program, timeline);
    return;
  }
  const ExecutedProgram executed = as_executed(program, timeline);
  set_stash(result, liveness(executed.program));
  extras.lists = action_lists(executed.program);
  extras.drawing = gantt(executed.program, executed.timeline);
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

ScheduleResult simulated(const ScheduleOptions& given, const Subject& subject,
                         const ScheduleCosts& costs, Extras& extras) {
  const ExecutorModel executor = given.executor.model();
  ScheduleResult result;
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
  if (stays_rolled_up(given, subject, schedule, executor)) {
    const LoweringOptions options = lowering_for(subject, costs, executor);
    if (!has_rule) {
      replay_rolled_up(schedule, options, costs.prices, executor, result);
      return result;
    }
    if (replay_rule_rolled_up(schedule, options, costs.prices, executor, result)) return result;
  }
  const Program program = program_for(given, subject, std::move(schedule), costs, executor);
  result.actions = static_cast<std::int64_t>(program.actions.size());
  StagePrices prices = costs.prices;
  extras.uncertainty = uncertainty_of(given, program, executor, prices);
  (has_rule ? replay_by_rule : replay)(given, program, prices, executor, result, extras);
  return result;
}

}  // namespace

Answer run_schedule(const Arguments& arguments) {
  ScheduleOptions given;
  Options options("schedule NAME -P N -M N --cost F=TIME,B=TIME,C=TIME [OPTIONS]",
                  "Replays one training step of a pipeline schedule with given costs, and says how "
                  "long it takes, how much of it is bubble and how many activations every rank "
                  "holds. No model is needed.",
                  kExamples);
  given.declare(options);
  if (auto help = options.parse(arguments)) return {*help};
  if (!given.name.ends_with(".csv")) given.name = schedule_called("NAME", given.name);

  if (given.csv_form && !given.csv) {
    bad_option("--csv-form", "no file is written", "add --csv FILE");
  }
  const TableFormat chosen = given.format.chosen();
  given.format.refuse_with_table(given.jitter.given(), "--jitter");
  given.format.refuse_with_table(given.print, "--print");
  const Subject subject = given.name.ends_with(".csv") ? from_file(given) : generated(given);
  const ScheduleCosts costs = costs_of(given, subject);
  Extras extras;
  const ScheduleResult result = simulated(given, subject, costs, extras);

  if (given.csv == "-") return {extras.csv};
  if (given.csv) write_file(*given.csv, extras.csv);
  if (given.format.is_table()) {
    Json row = Json::object();
    append_flat(row, schedule_json(result));
    const TextTable table = flat_table({row});
    return {chosen == TableFormat::kCsv ? table.csv() : table.markdown()};
  }
  if (chosen == TableFormat::kJson) {
    Json json = schedule_json(result);
    set_uncertainty(json, extras.uncertainty);
    return {to_text(json) + '\n'};
  }
  std::string text = schedule_report(result) + uncertainty_text(extras.uncertainty);
  if (given.print) {
    text += "\nCompute actions by rank (STAGE KIND MICRO-BATCH)\n" + extras.lists + "\nOne step\n" +
            extras.drawing;
  }
  if (given.csv) text += fmt::format("\nPyTorch's CSV is in {}\n", *given.csv);
  return report_answer(text);
}

}  // namespace penstock
