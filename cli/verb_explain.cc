#include <string>

#include "cli/changes.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/slow_options.h"
#include "cli/verbs.h"
#include "report/measures.h"
#include "report/result_json.h"
#include "report/simulation_report.h"
#include "report/uncertainty.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock explain plan.json
  penstock explain plan.json --slow rank=3:1.3
  penstock explain plan.json --json
)";

Json explanation_json(const PlanFile& file, const Evaluation& evaluation,
                      const std::vector<WhatIf>& changes, const Uncertainty& uncertainty) {
  Json json = Json::object();
  json.set("schema_version", kResultSchemaVersion);
  json.set("verb", "explain");
  json.set("model", file.model);
  json.set("plan", to_json(file.plan));
  json.set("result", to_json(evaluation, file.plan));
  const std::size_t tightest = tightest_rank(evaluation);
  json.set("tightest_rank", static_cast<std::int64_t>(tightest));
  json.set("headroom_bytes", headroom(evaluation.ranks[tightest]).count);
  json.set("busiest_rank", static_cast<std::int64_t>(busiest_rank(evaluation)));
  json.set("changes", what_if_json(evaluation.step_time, changes));
  Json not_searched = Json::array();
  for (const std::string& text : file.not_searched) not_searched.push(text);
  json.set("not_searched", std::move(not_searched));
  set_uncertainty(json, uncertainty);
  return json;
}

}  // namespace

Answer run_explain(const Arguments& arguments) {
  std::string path;
  bool json = false;
  SlowOptions slow;
  Options options("explain PLAN [OPTIONS]",
                  "Says what binds a plan: the tightest rank and the busiest one, where the time "
                  "goes, and what each change would gain (the same plan replayed with one thing "
                  "changed: no transfers, no reductions, no optimizer, balanced stages).",
                  kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", path);
  options.flag("--json", "the result as one JSON object", json);
  slow.declare(options);
  if (auto help = options.parse(arguments)) return {*help};

  PlanFile file = load_plan(path).value;
  Uncertainty uncertainty;
  if (slow.given()) {
    uncertainty.scenario = slow_down(slow.scenario(), file.program, file.executor, file.prices);
  }
  const Evaluation evaluation = replay_plan_file(file).evaluation;
  const std::vector<WhatIf> changes = gains_of_changes(file, evaluation);
  if (json) return {to_text(explanation_json(file, evaluation, changes, uncertainty)) + '\n'};
  return {explanation(file, evaluation, changes) + uncertainty_text(uncertainty)};
}

}  // namespace penstock
