#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/contention_options.h"
#include "cli/executor_options.h"
#include "cli/files.h"
#include "cli/jitter_options.h"
#include "cli/options.h"
#include "cli/parse.h"
#include "cli/replay_with.h"
#include "cli/slow_options.h"
#include "cli/verbs.h"
#include "report/contention_report.h"
#include "report/result_json.h"
#include "report/simulation_report.h"
#include "report/uncertainty.h"
#include "search/contention.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock simulate plan.json
  penstock simulate plan.json --executor sender-blocks --queues per-peer
  penstock simulate plan.json --jitter-percent 2 --slow rank=3:1.3
  penstock simulate plan.json --contention
  penstock simulate plan.json --json
)";

Json simulation_json(const PlanFile& file, const Evaluation& evaluation,
                     const Uncertainty& uncertainty,
                     const std::optional<ContentionEffect>& contention) {
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "simulate");
  json.set("model", file.model);
  json.set("executor", words_of(file.executor));
  json.set("plan", to_json(file.plan));
  json.set("result", to_json(evaluation, file.plan));
  json.set("predicted_step_time_ns", std::int64_t{file.prediction.step_time.count()});
  set_uncertainty(json, uncertainty);
  if (contention) json.set("contention", to_json(*contention));
  return json;
}

// The replay of an untouched file takes what the file predicts, to the nanosecond.
std::string against_prediction(const PlanFile& file, const Evaluation& evaluation,
                               bool other_executor, bool slow) {
  const Duration predicted = file.prediction.step_time;
  if (evaluation.step_time == predicted) return "as the plan file predicts, to the nanosecond";
  return fmt::format("the plan file predicts {} ({})", to_text(predicted),
                     slow             ? "without the scenario"
                     : other_executor ? "with another executor"
                                      : "it was changed, or written by another version");
}

}  // namespace

Answer run_simulate(const Arguments& arguments) {
  std::string path;
  bool json = false;
  ExecutorOptions executor;
  SlowOptions slow;
  JitterOptions jitter;
  ContentionOptions shared;
  Options options("simulate PLAN [OPTIONS]",
                  "Replays the step that a plan file holds: step time, bubble by both definitions, "
                  "time and memory by rank, and the step drawn. Needs neither profile nor cluster.",
                  kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", path);
  options.flag("--json", "the result as one JSON object", json);
  executor.declare(options);
  options.heading("What if the machine is uneven");
  slow.declare(options);
  jitter.declare(options);
  options.heading("What if links are shared");
  shared.declare(options);
  if (auto help = options.parse(arguments)) return {*help};

  PlanFile file = load_plan(path).value;
  if (executor.given()) replay_with(executor.model(), file);
  Uncertainty uncertainty;
  if (slow.given()) {
    uncertainty.scenario = slow_down(slow.scenario(), file.program, file.executor, file.prices);
  }
  if (jitter.given()) {
    uncertainty.jitter = jitter.sampled(file.program, file.prices, file.executor);
  }
  std::optional<ContentionEffect> contention;
  std::string cluster_name;
  if (shared.given()) {
    if (slow.given() && !slow.scenario().links.empty()) {
      bad_option("--slow", "a link cannot be slow by a factor where links are shared",
                 "leave out --contention, or slow down a rank");
    }
    const ClusterSpec cluster = shared.load(file);
    contention = contention_of(file, cluster);
    cluster_name = cluster.name;
  }
  const Replayed replayed = replay_plan_file(file);
  if (json) {
    return {to_text(simulation_json(file, replayed.evaluation, uncertainty, contention)) + '\n'};
  }
  const std::string note =
      against_prediction(file, replayed.evaluation, executor.given(), slow.given());
  return {simulation_report(file, replayed.evaluation, replayed.timeline, note) +
          uncertainty_text(uncertainty) +
          (contention ? contention_text(*contention, cluster_name) : "")};
}

}  // namespace penstock
