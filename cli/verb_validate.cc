#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/add_run.h"
#include "cli/files.h"
#include "cli/load_run.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "report/result_json.h"
#include "report/validation.h"
#include "report/words.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock validate plan.json run.jsonl
  penstock validate plan.json run.jsonl --tolerance-percent 5 --json
  penstock validate plan.json run.jsonl --add-to runs.json
  penstock validate plan.json profiler_traces
)";

Json validation_json(const PlanFile& plan, const RunHeader& run, const Validation& validation,
                     const std::vector<std::string>& notes) {
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "validate");
  json.set("model", plan.model);
  json.set("plan", to_json(plan.plan));
  json.set("device", run.device).set("transport", run.transport).set("started", run.started);
  set_validation(json, validation);
  Json said = Json::array();
  for (const std::string& note : notes) said.push(note);
  json.set("notes", std::move(said));
  return json;
}

}  // namespace

Answer run_validate(const Arguments& arguments) {
  std::string plan_path, run_path;
  std::optional<std::string> warm_up, tolerance, runs;
  bool json = false, any_plan = false;
  Options options(
      "validate PLAN RUN [OPTIONS]",
      "Lays a measured run over the prediction of its plan, action by action: step time, how long "
      "each kind of action takes, when each rank is done, where the two lie farthest apart. Exit "
      "code 1 when the step time is off by more than the tolerance.",
      kExamples);
  options.heading("Options");
  options.positional("PLAN", "the plan file that ran", plan_path);
  options.positional("RUN",
                     "what penstock train --log RUN --timeline wrote; or a folder with the traces "
                     "of PyTorch's profiler, one *.json per rank, whose pipeline names its actions "
                     "(PP:2F0)",
                     run_path);
  options.option("--tolerance-percent", "X",
                 "how far the predicted step time may be off, of the measured one (default 10)",
                 tolerance);
  options.option("--warm-up", "N",
                 "steps at the beginning that do not count (default 3; of traces 1, where they "
                 "hold several steps)",
                 warm_up);
  options.option("--add-to", "FILE",
                 "add the run to this file of runs, which penstock calibrate fits to; made where "
                 "there is none",
                 runs);
  options.flag("--any-plan", "compare although the run names another plan file", any_plan);
  options.flag("--json", "the comparison as one JSON object, every action included", json);
  if (auto help = options.parse(arguments)) return {*help};

  ValidationOptions settings;
  if (warm_up) settings.warm_up = parse_int("--warm-up", *warm_up, 0);
  if (tolerance) {
    settings.tolerance = parse_number("--tolerance-percent", *tolerance, 0.0, 1000.0) / 100.0;
  }
  const Loaded<PlanFile> plan = load_plan(plan_path);
  const LoadedRun run = load_run(run_path, plan);
  if (!run.is_traces && !any_plan) require_same_plan(plan, run.log, run_path);
  if (run.is_traces && runs) {
    bad_option("--add-to", "profiler traces say neither when nor where the run was",
               "leave it out");
  }
  if (run.is_traces && !warm_up) settings.warm_up = run.log.steps.size() > 1 ? 1 : 0;
  const Timeline predicted = simulate(plan.value.program, plan.value.prices, plan.value.executor);
  const Validation validation = validate(plan.value, predicted, run.log, settings, run_path);
  if (runs) add_run(*runs, plan.value, run.log.header, validation);
  const int exit = validation.holds() ? kYes : kNo;
  if (json) {
    return {to_text(validation_json(plan.value, run.log.header, validation, run.notes)) + '\n',
            exit};
  }
  std::string text = validation_report(validation, run.log.header);
  for (const std::string& note : run.notes) text += wrapped(note, 100, "note: ", "      ");
  return {text, exit};
}

}  // namespace penstock
