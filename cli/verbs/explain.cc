// `penstock explain`: the plan is replayed, its busiest rank's time is divided into parts, and
// every study that answers from a plan file alone adds its rows. Questions that need the profile
// (why not, memory, sensitivity) find it where the plan says, and say so where it is not there.
#include <optional>
#include <string>

#include "cli/answers/commands/rehearsal.h"
#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/io/progress.h"
#include "cli/options/options.h"
#include "cli/options/slow_options.h"
#include "cli/options/table_format.h"
#include "cli/options/training_cost_options.h"
#include "cli/options/why_not_choices.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/slow_answers.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "report/explanation.h"
#include "report/flat_table.h"
#include "report/json_array.h"
#include "report/measures.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/uncertainty.h"
#include "search/evaluate.h"
#include "studies/changes.h"
#include "studies/model_flops.h"
#include "studies/sensitivity.h"
#include "studies/step_parts.h"
#include "studies/why_not.h"
#include "studies/work_terms.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock explain plan.json
  penstock explain plan.json --why-not PP=8,DP=8
  penstock explain plan.json --slow rank=3:1.3
  penstock explain plan.json --slow rank=3:1.3 --book book.json
  penstock explain plan.json --json
)";

Json heading_json(const PlanFile& file, const Evaluation& evaluation) {
  Json json = answer_json("explain");
  json.set("model", file.model);
  json.set("plan", to_json(file.plan));
  json.set("prediction", to_json(evaluation, file.plan, file.flops ? &*file.flops : nullptr));
  if (file.flops) json.set("model_flops", to_json(*file.flops));
  const std::size_t tightest = tightest_rank(evaluation);
  json.set("fullest_rank", static_cast<std::int64_t>(tightest));
  json.set("memory_left_bytes", headroom(evaluation.ranks[tightest]).count);
  json.set("busiest_rank", static_cast<std::int64_t>(busiest_rank(evaluation)));
  return json;
}

Json explanation_json(const PlanFile& file, const Explanation& about,
                      const Uncertainty& uncertainty, const std::optional<TrainingCost>& training) {
  const Evaluation& evaluation = about.evaluation;
  Json json = heading_json(file, evaluation);
  json.set("time_of_busiest_rank", to_json(evaluation.step_time, about.parts));
  if (!about.work.terms.empty()) json.set("work_of_busiest_rank", to_json(about.work));
  json.set("changes", what_if_json(evaluation.step_time, gains_of_changes(file, evaluation)));
  json.set("sensitivity", to_json(about.sensitivities));
  json.set("not_searched", strings(file.not_searched));
  set_uncertainty(json, uncertainty);
  if (training) json.set("training", to_json(*training));
  return json;
}

// One row per change: what the same work in other places would take, and what the step answers to.
std::string table_of(const PlanFile& file, const Explanation& about) {
  std::vector<Json> rows;
  const Json changes =
      what_if_json(about.evaluation.step_time, gains_of_changes(file, about.evaluation));
  rows.reserve(changes.elements().size());
  for (const Json& change : changes.elements()) {
    rows.push_back(Json::object().set("key", "replay").set("what", "the same plan, replayed"));
    append_flat(rows.back(), change);
  }
  const Json sensitivity = to_json(about.sensitivities);
  for (const Json& thing : sensitivity.find("rows")->elements()) {
    for (const Json& outcome : thing.find("outcomes")->elements()) {
      rows.push_back(
          Json::object().set("key", *thing.find("key")).set("what", *thing.find("what")));
      append_flat(rows.back(), outcome);
    }
  }
  return flat_table(rows).csv();
}

Answer explain_whole(PlanFile file, const PlanQuestion& asked, const SlowOptions& slow,
                     TableFormat format, const std::optional<TrainingQuestion>& tokens,
                     Screen screen) {
  Uncertainty uncertainty;
  const Scenario scenario = slow.scenario(file.plan, file.cluster.devices_per_node);
  if (slow.given()) {
    uncertainty.scenario = slow_down(scenario, file.program, file.executor, file.prices);
    uncertainty.scenario->scenario += slow.gpus_in_words(file.plan, file.cluster.devices_per_node);
  }
  const Replayed replayed = replay_plan_file(file);
  WatchedSearch watched({});
  Explanation about;
  about.evaluation = replayed.evaluation;
  about.parts = step_parts(file, replayed);
  if (asked.why_not.empty()) {
    about.work = work_terms(asked.question.profile.value, file,
                            static_cast<int>(busiest_rank(replayed.evaluation)));
  }
  about.rearranged = gains_of_rearranging(file, replayed.evaluation);
  about.sensitivities = sensitivities_of(file, replayed.evaluation, asked, scenario, watched);
  const std::optional<TrainingCost> training =
      training_cost(tokens, file.plan, replayed.evaluation);
  const int exit = ends(training) ? kYes : kNo;
  if (format == TableFormat::kCsv) return {table_of(file, about)};
  if (format == TableFormat::kMarkdown) return {sensitivity_rows(about.sensitivities).markdown()};
  if (format == TableFormat::kJson) {
    return json_answer(explanation_json(file, about, uncertainty, training), exit);
  }
  return report_answer(explanation(file, about, screen) + uncertainty_text(uncertainty, screen) +
                           training_text(training, screen),
                       exit);
}

Answer explain_why_not(const PlanFile& file, PlanQuestion asked, const std::string& text, bool json,
                       Screen screen) {
  const Evaluation evaluation = replay_plan_file(file).evaluation;
  if (!asked.why_not.empty()) {
    bad_option("--why-not", "a search needs what the plan was made from, but " + asked.why_not,
               "run it where these files are, or make the plan anew with penstock plan");
  }
  WatchedSearch watched({});
  const std::string choices = pin_choices(asked.question, text);
  WhyNot why = why_not(file, std::move(asked.question), watched);
  why.asked = choices;
  const int exit = why.result.complete ? kYes : kStopped;
  if (!json) return report_answer(why_not_report(file, evaluation, why, screen), exit);
  Json answer = heading_json(file, evaluation);
  answer.set("why_not", to_json(why, file.plan, evaluation));
  return json_answer(answer, exit);
}

}  // namespace

Answer run_explain(const Arguments& arguments, Screen screen) {
  std::string path;
  std::optional<std::string> why_not_text, book, machines;
  TableFormatOptions format;
  TrainingCostOptions cost;
  SlowOptions slow;
  Options options(
      "explain PLAN [OPTIONS]",
      "Says what limits a plan: the fullest rank and the busiest one, where the time goes, "
      "how long the step would be without each part of it, and how much faster or slower "
      "it gets when a stage, a section, a link, the memory or the batch changes. The "
      "profile and the cluster are read from the paths in the plan.",
      kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", path);
  options.option(
      "--why-not", "K=V,...",
      "instead of the explanation: compare this plan with the best one that has these choices, "
      "or say why there is none. Keys: TP, PP, DP, CP, VP, mbs, schedule, recompute, zero1, "
      "sharding, device, placement; the rest is searched",
      why_not_text);
  format.declare(options, "one row per change");
  slow.declare(options);
  options.option("--book", "FILE",
                 "instead of the explanation: what to do about the slow ranks, by replays: keep "
                 "them, give their replica less of the batch, cut the model around them, or leave "
                 "them out and run this book's plan for fewer GPUs (plan --gpus 1..64 -o FILE)",
                 book);
  options.option("--slow-machines", "FILE",
                 "with --book: the slow ranks that train or validate wrote into FILE (.json)",
                 machines);
  cost.declare(options);
  options.remark({"memory", "mem", "vram", "peak-memory"},
                 "penstock simulate plan.json prints the memory of every rank");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  if (why_not_text && slow.given()) {
    bad_option("--why-not", "a search cannot take --slow into account", "leave one of them out");
  }
  const TableFormat chosen = format.chosen();
  if (machines && !book) {
    bad_option("--slow-machines", "it says which ranks are slow, not what else there is to run",
               "add --book book.json");
  }
  if (book) {
    format.refuse_with_table(true, "--book");
    if (why_not_text) bad_option("--why-not", "it is another question", "leave --book out");
    return answer_on_slow_ranks(load_plan(path).value,
                                {*book, slow.scenario(), machines, chosen == TableFormat::kJson},
                                screen);
  }
  const std::optional<TrainingQuestion> tokens = cost.question();
  format.refuse_with_table(why_not_text.has_value(), "--why-not");
  format.refuse_with_table(tokens.has_value(), "--tokens");
  if (why_not_text && tokens) {
    bad_option("--why-not", "it is not answered for a whole training", "leave --tokens out");
  }

  Loaded<PlanFile> plan = slow.given() ? load_plan(path) : load_plan_to_draw(path);
  require_tokens(tokens, plan.value.plan);
  cost.set_price(plan.value);
  PlanQuestion asked = question_of(plan.value, plan.file.path, why_not_text.has_value());
  // Plan files of before 2026-11-23 do not hold it.
  if (!plan.value.flops && asked.why_not.empty()) {
    plan.value.flops = model_flops_of(asked.question, plan.value.plan);
  }
  work_begins();
  if (why_not_text) {
    return explain_why_not(plan.value, std::move(asked), *why_not_text,
                           chosen == TableFormat::kJson, screen);
  }
  return explain_whole(plan.value, asked, slow, chosen, tokens, screen);
}

}  // namespace penstock
