// `penstock validate`: the run may be our own log, traces of PyTorch's profiler or another
// trainer's log; what such a log leaves open can be said by options, and is asked for only where
// --add-to needs it. The exit code is 1 when the step is off by more than the tolerance.
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/io/add_run.h"
#include "cli/io/files.h"
#include "cli/io/load_run.h"
#include "cli/options/options.h"
#include "cli/options/slow_watch_options.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "report/json_array.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/validation.h"
#include "report/words.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock validate plan.json run.jsonl
  penstock validate plan.json run.jsonl --tolerance-percent 5 --json
  penstock validate plan.json run.jsonl --add-to runs.json
  penstock validate plan.json run.jsonl --slow-ranks
  penstock validate plan.json profiler_traces
  penstock validate plan.json train.log --add-to runs.json --run-device h100 --run-transport nccl
)";

Json validation_json(const PlanFile& plan, const RunHeader& run, const Validation& validation,
                     const std::vector<std::string>& notes) {
  Json json = answer_json("validate");
  json.set("model", plan.model);
  json.set("plan", to_json(plan.plan));
  json.set("device", run.device).set("transport", run.transport).set("started", run.started);
  set_validation(json, validation);
  return json.set("notes", strings(notes));
}

// What a trainer's log leaves open, for a file of runs.
struct Whereabouts {
  std::optional<std::string> device, transport, started;

  void declare(Options& options) {
    options.heading("What a trainer's log does not say");
    options.option("--run-device", "NAME", "device type of the run, for --add-to", device);
    options.option("--run-transport", "NAME", "transport of the run (nccl, gloo), for --add-to",
                   transport);
    options.option("--run-started", "TIME",
                   "when the run started; default: the time in its first line", started);
  }

  // Error{kBadInput} when they are given for a run that says so itself.
  void fill(LoadedRun& run, const std::string& path) const {
    if (!run.is_trainer_log) {
      if (device || transport || started) {
        bad_option("--run-device, --run-transport, --run-started",
                   path + " is not the log of another trainer", "leave them out");
      }
      return;
    }
    for (const auto& [option, value] :
         {std::pair{"--run-device", device}, std::pair{"--run-transport", transport},
          std::pair{"--run-started", started}}) {
      if (value && value->empty()) bad_option(option, "it is empty", "leave it out, or say it");
    }
    RunHeader& header = run.log.header;
    header.device = device.value_or("");
    header.transport = transport.value_or("");
    if (started) header.started = *started;
    if (!device || !transport) {
      run.notes.push_back(
          "the log says neither on which device nor over what it ran, and holds "
          "no actions: --run-device and --run-transport name the former");
    }
  }
};

// Error{kBadInput} where something is missing that a file of runs must say.
std::string source_of(const LoadedRun& run, const std::string& path) {
  const RunHeader& header = run.log.header;
  if (run.is_traces) {
    bad_option("--add-to", "profiler traces say neither when nor where the run was",
               "leave it out");
  }
  if (!run.is_trainer_log) {
    return fmt::format("penstock train {} on {}, {}: {}, {}, {}", header.tool_version, header.host,
                       header.started, header.device, header.transport, header.library);
  }
  if (header.device.empty() || header.transport.empty() || header.started.empty()) {
    bad_option("--add-to",
               fmt::format("{} does not say on which device, over what and when it ran", path),
               "add --run-device h100 --run-transport nccl, and --run-started where the log has no "
               "times");
  }
  return fmt::format("log of {}, {}, {}: {}, {}", header.library,
                     std::filesystem::path(path).filename().string(), header.started, header.device,
                     header.transport);
}

ValidationOptions settings_of(const std::optional<int>& warm_up,
                              const std::optional<std::string>& tolerance) {
  ValidationOptions settings;
  if (warm_up) settings.warm_up = *warm_up;
  if (tolerance) {
    settings.tolerance = parse_number("--tolerance-percent", *tolerance, 0.0, 1000.0) / 100.0;
  }
  return settings;
}

// The run as the ranks of a job under way are looked at; nothing when nobody asked.
std::optional<SlowWatch> watched(const PlanFile& plan, const LoadedRun& run, int warm_up,
                                 const SlowWatchOptions& asked) {
  std::optional<SlowRule> rule = asked.rule();
  if (!rule) return std::nullopt;
  rule->warm_up = warm_up;
  SlowWatch watch(rank_shares(plan), *rule);
  for (const MeasuredStep& step : run.log.steps) {
    const std::vector<Duration> compute = rank_compute(plan, step);
    if (compute.empty()) {
      bad_option("--slow-ranks",
                 fmt::format("step {} of the run does not say what each of the {} ranks computed",
                             step.step, plan.plan.devices()),
                 "logs of penstock train --log say it, and so do traces of all ranks");
    }
    watch.observe(step.step, compute);
  }
  return watch;
}

}  // namespace

Answer run_validate(const Arguments& arguments, Screen screen) {
  std::string plan_path;
  std::optional<std::string> run_file, warm_up, tolerance, runs;
  bool json = false, any_plan = false;
  Whereabouts whereabouts;
  Options options("validate PLAN RUN [OPTIONS]",
                  "Compares a measured run with the prediction of its plan, action by action: step "
                  "time, duration of each kind of action, end of each rank, and the largest "
                  "differences. Exit code 1 when the step time is off by more than the tolerance.",
                  kExamples);
  options.heading("Options");
  options.positional("PLAN", "the plan file that ran", plan_path);
  options.positional_if_any(
      "RUN",
      "what penstock train --log RUN --timeline wrote; the log of Megatron-LM or "
      "torchtitan (step times and memory); or a folder with the traces of PyTorch's "
      "profiler, one *.json per rank, whose pipeline names its actions (PP:2F0)",
      run_file);
  options.option(
      "--tolerance-percent", "X",
      "allowed error of the predicted step time, in percent of the measured one (default 10)",
      tolerance);
  options.option("--warm-up", "N",
                 "steps to ignore at the beginning (default 3, for traces 1; fewer in a short run)",
                 warm_up);
  options.option("--add-to", "FILE",
                 "add the run to this file of runs, to which penstock calibrate fits; created if "
                 "it does not exist",
                 runs);
  options.flag("--any-plan",
               "compare even if the run names another plan file, or the log shows another job",
               any_plan);
  SlowWatchOptions slow_watch;
  slow_watch.declare(options);
  options.flag("--json", "the comparison as one JSON object, every action included", json);
  whereabouts.declare(options);
  options.remark({"tolerance", "tol", "rtol"},
                 "did you mean --tolerance-percent {X}? It is in percent: 5 is a share of 0.05");
  TypedCommand command;
  options.keep_command(command);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  if (!run_file) {
    const bool is_log = role_of(plan_path) == FileRole::kLog;
    const std::string plan = is_log ? "plan.json" : plan_path;
    bad_option(
        "RUN", "missing",
        fmt::format("name the log of what ran, after its plan: {} (or the run.jsonl of penstock "
                    "train --log, or a folder of profiler traces); penstock check {} judges "
                    "the plan alone",
                    is_log ? "penstock validate plan.json " + plan_path : command.whole(), plan));
  }
  const std::string& run_path = *run_file;

  const std::optional<int> asked =
      warm_up ? std::optional(parse_int("--warm-up", *warm_up, 0)) : std::nullopt;
  ValidationOptions settings = settings_of(asked, tolerance);
  const Loaded<PlanFile> plan = load_plan(plan_path);
  LoadedRun run = load_run(run_path, plan, {.warm_up = settings.warm_up, .any_plan = any_plan});
  whereabouts.fill(run, run_path);
  keep_steps_of(plan, run, run_path, any_plan);
  const std::string source = runs ? source_of(run, run_path) : "";
  settings.warm_up = warm_up_of(run, asked);
  const Timeline predicted = simulate(plan.value.program, plan.value.prices, plan.value.executor);
  const Validation validation = compared(plan.value, predicted, run, settings, run_path);
  if (runs) add_run(*runs, plan.value, run.log.header, validation, source);
  const int exit = validation.holds() ? kYes : kNo;
  const std::optional<SlowWatch> watch = watched(plan.value, run, settings.warm_up, slow_watch);
  SlowRanks slow;
  if (watch) slow = {watch->slow(), {}, watch->rule().threshold, watch->rule().window};
  if (!slow_watch.file().empty()) write_slow_machines(slow_watch.file(), slow);
  if (json) {
    Json answer = validation_json(plan.value, run.log.header, validation, run.notes);
    if (watch) answer.set("slow_ranks", to_json(slow));
    return json_answer(answer, exit);
  }
  std::string text = validation_report(validation, run.log.header, screen);
  if (watch) text += slow_ranks_text(slow, watch->windows(), screen);
  text += wrapped(run.notes, screen.width(), "note: ", "      ");
  return report_answer(text, exit);
}

}  // namespace penstock
