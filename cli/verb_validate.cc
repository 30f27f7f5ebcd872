#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/add_run.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/verbs.h"
#include "core/error.h"
#include "core/json_reader.h"
#include "report/result_json.h"
#include "report/validation.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock validate plan.json run.jsonl
  penstock validate plan.json run.jsonl --tolerance-percent 5 --json
  penstock validate plan.json run.jsonl --add-to runs.json
)";

void require_same_plan(const Loaded<PlanFile>& plan, const RunLog& run, const std::string& path) {
  if (run.header.plan_hash == plan.file.hash) return;
  throw_bad_input(
      fmt::format("{}: it ran a plan with the hash {} ({}), but {} has {}\n"
                  "help: name the plan file that it ran, or compare anyway with --any-plan",
                  path, run.header.plan_hash, run.header.plan, plan.file.path, plan.file.hash));
}

Json validation_json(const PlanFile& plan, const RunHeader& run, const Validation& validation) {
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "validate");
  json.set("model", plan.model);
  json.set("plan", to_json(plan.plan));
  json.set("device", run.device).set("transport", run.transport).set("started", run.started);
  set_validation(json, validation);
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
  options.positional("RUN", "what penstock train --log RUN --timeline wrote", run_path);
  options.option("--tolerance-percent", "X",
                 "how far the predicted step time may be off, of the measured one (default 10)",
                 tolerance);
  options.option("--warm-up", "N", "steps at the beginning that do not count (default 3)", warm_up);
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
  const RunLog run = read_run_log(read_file(run_path), run_path);
  if (!any_plan) require_same_plan(plan, run, run_path);
  const Timeline predicted = simulate(plan.value.program, plan.value.prices, plan.value.executor);
  const Validation validation = validate(plan.value, predicted, run, settings, run_path);
  if (runs) add_run(*runs, plan.value, run.header, validation);
  const int exit = validation.holds() ? kYes : kNo;
  if (json) return {to_text(validation_json(plan.value, run.header, validation)) + '\n', exit};
  return {validation_report(validation, run.header), exit};
}

}  // namespace penstock
