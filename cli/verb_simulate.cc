#include <string>

#include <fmt/format.h>

#include "cli/executor_options.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/replay_with.h"
#include "cli/verbs.h"
#include "report/result_json.h"
#include "report/simulation_report.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock simulate plan.json
  penstock simulate plan.json --executor sender-blocks --queues per-peer
  penstock simulate plan.json --json
)";

Json simulation_json(const PlanFile& file, const Evaluation& evaluation) {
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "simulate");
  json.set("model", file.model);
  json.set("executor", words_of(file.executor));
  json.set("plan", to_json(file.plan));
  json.set("result", to_json(evaluation, file.plan));
  json.set("predicted_step_time_ns", std::int64_t{file.prediction.step_time.count()});
  return json;
}

// The replay of an untouched file takes what the file predicts, to the nanosecond.
std::string against_prediction(const PlanFile& file, const Evaluation& evaluation,
                               bool other_executor) {
  const Duration predicted = file.prediction.step_time;
  if (evaluation.step_time == predicted) return "as the plan file predicts, to the nanosecond";
  return fmt::format(
      "the plan file predicts {} ({})", to_text(predicted),
      other_executor ? "with another executor" : "it was changed, or written by another version");
}

}  // namespace

Answer run_simulate(const Arguments& arguments) {
  std::string path;
  bool json = false;
  ExecutorOptions executor;
  Options options("simulate PLAN [OPTIONS]",
                  "Replays the step that a plan file holds: step time, bubble by both definitions, "
                  "time and memory by rank, and the step drawn. Needs neither profile nor cluster.",
                  kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", path);
  options.flag("--json", "the result as one JSON object", json);
  executor.declare(options);
  if (auto help = options.parse(arguments)) return {*help};

  PlanFile file = load_plan(path).value;
  if (executor.given()) replay_with(executor.model(), file);
  const Replayed replayed = replay_plan_file(file);
  if (json) return {to_text(simulation_json(file, replayed.evaluation)) + '\n'};
  return {simulation_report(file, replayed.evaluation, replayed.timeline,
                            against_prediction(file, replayed.evaluation, executor.given()))};
}

}  // namespace penstock
