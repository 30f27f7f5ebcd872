#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/costs.h"
#include "cli/executor_options.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "core/error.h"
#include "core/json_reader.h"
#include "report/gantt.h"
#include "report/pipeline_csv.h"
#include "report/schedule_report.h"
#include "simulator/liveness.h"
#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms,C=0.5ms --print
  penstock schedule zb-h1 -P 8 -M 24 --cost F=18.522ms,I=18.086ms,W=9.337ms,C=0.601ms
  penstock schedule interleaved -P 4 -V 2 -M 8 --cost F=5ms,B=10ms --csv schedule.csv
  penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms,C=1ms --executor deepspeed --json
)";

struct ScheduleOptions {
  std::string name;
  std::optional<std::string> ranks, chunks, micro_batches, group, cost_file, csv;
  std::vector<std::string> costs;
  ExecutorOptions executor;
  bool print = false, json = false;

  void declare(Options& options) {
    std::string known;
    for (const ScheduleKind& kind : schedule_kinds()) {
      known += fmt::format("{}{} ({})", known.empty() ? "" : "; ", kind.name, kind.summary);
    }
    options.heading("The pipeline");
    options.positional("NAME", known, name);
    options.option("-P,--ranks", "N", "pipeline ranks", ranks);
    options.option("-V,--chunks", "N",
                   "virtual stages per rank, default 1; interleaved and looped-bfs need 2 or more",
                   chunks);
    options.option("-M,--micro-batches", "N", "micro-batches per step", micro_batches);
    options.option(
        "--group", "N",
        "interleaved: micro-batches per group by Megatron's rule; default: PyTorch's rule", group);
    options.heading("What it costs");
    options.repeated("--cost", "K=TIME,...",
                     "per virtual stage and micro-batch: F forward, B backward (default I + W), "
                     "I input gradient, W weight gradient, R recompute before every backward; "
                     "C per transfer between ranks (default 0). Times need a unit: ns, us, ms, s",
                     costs);
    options.option("--cost-file", "FILE",
                   "costs of every stage and boundary (penstock.costs/1, see docs/user_guide.md)",
                   cost_file);
    executor.declare(options);
    options.heading("What to print");
    options.flag("--print", "also the lists of actions and a drawing of the step", print);
    options.option("--csv", "FILE",
                   "write PyTorch's compute-only CSV of the schedule (- for stdout, instead of the "
                   "report)",
                   csv);
    options.flag("--json", "the result as one JSON object", json);
  }
};

const ScheduleKind& kind_named(const std::string& name) {
  if (const ScheduleKind* kind = find_schedule(name)) return *kind;
  std::vector<std::string> known;
  for (const ScheduleKind& kind : schedule_kinds()) known.emplace_back(kind.name);
  bad_option("NAME", fmt::format("unknown schedule '{}'", name), did_you_mean(name, known));
}

ScheduleShape shape_of(const ScheduleOptions& given) {
  ScheduleShape shape;
  shape.ranks = parse_int("-P", required(given.ranks, "-P", "-P 4"), 1);
  if (given.chunks) shape.chunks = parse_int("-V", *given.chunks, 1);
  shape.micro_batches = parse_int("-M", required(given.micro_batches, "-M", "-M 8"), 1);
  if (given.group) {
    if (given.name != "interleaved") {
      bad_option("--group", "only interleaved has groups", "leave it out");
    }
    shape.group = parse_int("--group", *given.group, 1);
  }
  return shape;
}

ScheduleCosts costs_of(const ScheduleOptions& given, const ScheduleKind& kind, int stages) {
  if (!given.cost_file) return parse_costs(given.costs, kind.split_backward, stages);
  if (!given.costs.empty()) {
    bad_option("--cost-file", "--cost is given too", "keep one of them");
  }
  return read_costs(*given.cost_file, kind.split_backward, stages);
}

// What goes beside the numbers. A schedule of millions of actions is dropped as soon as it is
// lowered, so its texts are made before.
struct Extras {
  std::string csv, lists, drawing;
};

Program lowered(Schedule schedule, const ScheduleCosts& costs, const ExecutorModel& executor) {
  PipelineInput input;
  input.micro_batches.resize(static_cast<std::size_t>(schedule.micro_batches));
  input.schedule = std::move(schedule);
  LoweringOptions options;
  options.recompute = costs.recompute;
  options.issue = executor.issue;
  std::vector<PipelineInput> pipelines;
  pipelines.push_back(std::move(input));
  return lower(pipelines, options);
}

void set_times(ScheduleResult& result, const TimelineSummary& summary) {
  result.makespan = summary.makespan;
  result.longest_span = summary.longest_span;
  result.ideal = summary.ideal;
}

ScheduleResult simulated(const ScheduleOptions& given, const ScheduleShape& shape,
                         const ScheduleCosts& costs, Extras& extras) {
  const ExecutorModel executor = given.executor.model();
  ScheduleResult result;
  result.schedule = given.name;
  result.ranks = shape.ranks;
  result.chunks = shape.chunks;
  result.micro_batches = shape.micro_batches;
  result.costs = costs.words;
  result.executor = words_of(executor);

  Schedule schedule = make_schedule(given.name, shape);
  if (given.csv) extras.csv = write_pipeline_csv(schedule);
  if (given.print) extras.lists = action_lists(schedule);
  const Program program = lowered(std::move(schedule), costs, executor);
  result.actions = static_cast<std::int64_t>(program.actions.size());
  for (const RankLiveness& rank : liveness(program)) {
    result.peak_stash_chunks.push_back(rank.peak_chunks);
  }
  if (given.print) {
    const Timeline timeline = simulate(program, costs.prices, executor);
    set_times(result, summarize(program, timeline));
    extras.drawing = gantt(program, timeline);
  } else {
    set_times(result, simulate_summary(program, costs.prices, executor));
  }
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

  const ScheduleKind& kind = kind_named(given.name);
  const ScheduleShape shape = shape_of(given);
  if (const std::string why = why_no_schedule(kind, shape); !why.empty()) {
    const std::string name = why.starts_with(given.name) ? "" : given.name + ": ";
    throw_bad_input(name + why + "\nhelp: penstock schedule --help lists the schedules");
  }
  const ScheduleCosts costs = costs_of(given, kind, shape.ranks * shape.chunks);
  Extras extras;
  const ScheduleResult result = simulated(given, shape, costs, extras);

  if (given.csv == "-") return {extras.csv};
  if (given.csv) write_file(*given.csv, extras.csv);
  if (given.json) return {to_text(schedule_json(result)) + '\n'};
  std::string text = schedule_report(result);
  if (given.print) {
    text += "\nCompute actions by rank (STAGE KIND MICRO-BATCH)\n" + extras.lists + "\nOne step\n" +
            extras.drawing;
  }
  if (given.csv) text += fmt::format("\nPyTorch's CSV is in {}\n", *given.csv);
  return {text};
}

}  // namespace penstock
