// `penstock simulate` replays what the plan file holds: the same file gives the predicted step to
// the nanosecond. Another executor lowers the lists anew; jitter, slow parts and shared links need
// every action, so a rolled-up file is written out in full for them.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/answers/commands/rehearsal.h"
#include "cli/io/files.h"
#include "cli/io/write_output.h"
#include "cli/options/contention_options.h"
#include "cli/options/executor_options.h"
#include "cli/options/jitter_options.h"
#include "cli/options/options.h"
#include "cli/options/slow_options.h"
#include "cli/options/table_format.h"
#include "cli/options/training_cost_options.h"
#include "cli/reports/large_plans.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "report/contention_report.h"
#include "report/flat_table.h"
#include "report/memory_table.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/simulation_report.h"
#include "report/time_table.h"
#include "report/traces/memory_csv.h"
#include "report/traces/step_trace.h"
#include "report/uncertainty.h"
#include "search/contention.h"
#include "search/evaluate.h"
#include "studies/replay_with.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock simulate plan.json
  penstock simulate plan.json --executor sender-blocks --queues per-peer
  penstock simulate plan.json --jitter-percent 2 --slow rank=3:1.3
  penstock simulate plan.json --contention
  penstock simulate plan.json --memory-csv memory.csv
  penstock simulate plan.json --tokens 300B --mtbf-hours 50000 --usd-per-gpu-hour 2.5
  penstock simulate plan.json --json
)";

Json simulation_json(const PlanFile& file, const Evaluation& evaluation,
                     const Uncertainty& uncertainty,
                     const std::optional<ContentionEffect>& contention,
                     const std::optional<TrainingCost>& training) {
  Json json = answer_json("simulate");
  json.set("model", file.model);
  json.set("executor", words_of(file.executor));
  json.set("plan", to_json(file.plan));
  json.set("prediction", to_json(evaluation, file.plan, file.flops ? &*file.flops : nullptr));
  json.set("predicted_step_time_ns", std::int64_t{file.prediction.step_time.count()});
  set_uncertainty(json, uncertainty);
  if (contention) json.set("contention", to_json(*contention));
  if (file.flops) json.set("model_flops", to_json(*file.flops));
  if (training) json.set("training", to_json(*training));
  return json;
}

// One row per rank of the first pipeline; for people one table of time and one of memory.
std::string table_of(const Evaluation& evaluation, const Plan& plan, TableFormat format) {
  if (format == TableFormat::kCsv) return flat_table(rank_rows(evaluation, plan)).csv();
  return "Time by rank (share of the makespan)\n\n" + time_rows(evaluation, plan).markdown() +
         "\nMemory by rank (GiB)\n\n" + memory_rows(evaluation, plan).markdown();
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

// A picture or a page is no table.
void refuse_picture(const std::string& file) {
  for (const char* ending : {".png", ".svg", ".html", ".pdf", ".jpg"}) {
    if (!file.ends_with(ending)) continue;
    bad_option("--memory-csv", file + " is no name of a table",
               "write --memory-csv mem.csv; penstock report plan.json -o report.html draws memory "
               "over time");
  }
}

// What the replay holds over time.
void write_memory(const std::string& file, const PlanFile& plan, const Replayed& replayed) {
  write_output(file, memory_csv(trace_of(plan, replayed.timeline)));
}

// Every action by itself: 2^24 take up to 3 GB.
Loaded<PlanFile> load_plan_to_replay(const std::string& path) {
  return load_plan_written_out(
      path, "what --executor, --slow, --jitter, --contention and --memory-csv replay",
      std::int64_t{1} << 24,
      "plan it with a smaller --global-batch: the step then has fewer micro-batches and repeats in "
      "the same way; without these options simulate takes any");
}

}  // namespace

Answer run_simulate(const Arguments& arguments, Screen screen) {
  std::string path;
  TableFormatOptions format;
  ExecutorOptions executor;
  SlowOptions slow;
  JitterOptions jitter;
  ContentionOptions shared;
  TrainingCostOptions cost;
  std::optional<std::string> memory_file;
  Options options("simulate PLAN [OPTIONS]",
                  "Replays the step that a plan file holds: step time, bubble by both definitions, "
                  "time and memory by rank, and the step drawn. Needs neither profile nor cluster.",
                  kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", path);
  format.declare(options, "one row per rank");
  executor.declare(options);
  options.option("--memory-csv", "FILE",
                 "also write what every rank holds over time, a row for each change (time in ns, "
                 "bytes of activations and of all, capacity)",
                 memory_file);
  options.heading("What if the machine is uneven");
  slow.declare(options);
  jitter.declare(options);
  options.heading("What if links are shared");
  shared.declare(options);
  cost.declare(options);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  const TableFormat chosen = format.chosen();
  format.refuse_with_table(jitter.given(), "--jitter");
  format.refuse_with_table(shared.given(), "--contention");
  const std::optional<TrainingQuestion> asked = cost.question();
  format.refuse_with_table(asked.has_value(), "--tokens");
  // What is drawn by chance, shared or lowered anew needs every action.
  const bool needs_all = executor.given() || slow.given() || jitter.given() || shared.given() ||
                         memory_file.has_value();
  if (memory_file) refuse_picture(*memory_file);
  PlanFile file = needs_all ? load_plan_to_replay(path).value : load_plan_to_draw(path).value;
  require_tokens(asked, file.plan);
  cost.set_price(file);
  if (executor.given()) replay_with(executor.applied_to(file.executor), file);
  Uncertainty uncertainty;
  if (slow.given()) {
    uncertainty.scenario = slow_down(slow.scenario(file.plan, file.cluster.devices_per_node),
                                     file.program, file.executor, file.prices);
    uncertainty.scenario->scenario += slow.gpus_in_words(file.plan, file.cluster.devices_per_node);
  }
  if (jitter.given()) {
    uncertainty.jitter = jitter.sampled(file.program, file.prices, file.executor);
  }
  std::optional<ContentionEffect> contention;
  std::string cluster_name;
  if (shared.given()) {
    if (slow.given() && !slow.scenario(file.plan, file.cluster.devices_per_node).links.empty()) {
      bad_option("--slow", "a link cannot be slow by a factor where links are shared",
                 "leave out --contention, or slow down a rank");
    }
    const ClusterSpec cluster = shared.load(file);
    contention = contention_of(file, cluster);
    cluster_name = cluster.name;
  }
  work_begins();
  const Replayed replayed = replay_plan_file(file);
  if (memory_file) write_memory(*memory_file, file, replayed);
  const std::optional<TrainingCost> training = training_cost(asked, file.plan, replayed.evaluation);
  const int exit = ends(training) ? kYes : kNo;
  if (format.is_table()) return {table_of(replayed.evaluation, file.plan, chosen)};
  if (chosen == TableFormat::kJson) {
    return json_answer(
        simulation_json(file, replayed.evaluation, uncertainty, contention, training), exit);
  }
  const std::string note =
      against_prediction(file, replayed.evaluation, executor.given(), slow.given());
  return report_answer(
      simulation_report(file, replayed.evaluation, replayed.timeline, note, screen) +
          uncertainty_text(uncertainty, screen) +
          (contention ? contention_text(*contention, cluster_name, screen) : "") +
          training_text(training, screen),
      exit);
}

}  // namespace penstock
