// `penstock multi`: several models on the same GPUs. Where some of them run already, what goes on
// is compared with a new schedule that pays for its restarts.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/report_command.h"
#include "cli/io/text_file.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/reports/multi_question.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/json_reader.h"
#include "multi/gang_search.h"
#include "report/multi_report.h"
#include "report/page/report_page.h"
#include "report/page/study_pages.h"
#include "report/result_json.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock multi data/multi/three-units.json --gpus 2
  penstock multi jobs.json --cluster cluster.json --gpus 16
  penstock multi jobs.json --device h100-sxm --gpus 64 -o report.html
  penstock multi jobs.json --cluster cluster.json --json > schedule.json
  penstock multi half-done.json --cluster cluster.json --restart 2min
)";

// Parcae (NSDI'24) measured 29 to 43 s for a restart of 1 to 32 nodes, without the checkpoint.
constexpr const char* kRestart = "60s";

struct MultiOptions {
  std::string jobs;
  MultiSettings settings;
  std::optional<std::string> restart, least_gain, output;
  bool json = false;

  void declare(Options& options) {
    options.heading("The question");
    options.positional("JOBS.json",
                       "the jobs (penstock.jobs/1, docs/file_formats.md): each a model with its "
                       "batch and steps, a book of plans, times of steps, or units of shards",
                       jobs);
    options.option("--gpus", "N", "GPUs that the jobs share; default: the whole cluster",
                   settings.gpus);
    options.option("--cluster", "FILE",
                   "the nodes and links that plans are searched for (penstock.cluster/1)",
                   settings.cluster);
    options.option("--device", "NAME",
                   "for models that are given by a config.json: the GPU (h100-sxm, a100-80gb, ...)",
                   settings.device);
    options.option("--for", "TRAINER", "only plans that this trainer can run", settings.trainer);
    options.option("--gpus-per-node", "N",
                   "a job of no more GPUs stays within a node; default: the cluster's nodes, else "
                   "all GPUs are in one",
                   settings.gpus_per_node);
    options.option(
        "--gpus-per-link", "N",
        "GPUs that share the way to the host, for jobs in units; default: as the cluster "
        "says, else 1",
        settings.gpus_per_link);
    options.option("--host-link", "KIND",
                   "duplex or simplex: loads and stores of units share it; default: as the cluster "
                   "says, else duplex",
                   settings.host_link);
    options.choices({"duplex", "simplex"});
    options.heading("Jobs that run already (\"running_on\" in the file)");
    options.option("--restart", "TIME",
                   "what such a job pays when its GPUs or its plan change: checkpoint, start, load "
                   "(default 60s)",
                   restart);
    options.option("--least-gain", "TIME",
                   "change only if the makespan gets shorter by this much (default 0s)",
                   least_gain);
    options.heading("The search");
    options.option("--seed", "N", "seed of the local searches (default 1)", settings.seed);
    options.option("--threads", "N",
                   "threads of the searches for plans; the answer does not depend on it",
                   settings.threads);
    options.heading("What to print");
    options.option(
        "-o,--output", "FILE",
        "write one HTML page (report.html): what every GPU runs, over time; \"-\" prints "
        "it",
        output);
    options.flag("--json", "the schedule as one JSON object, for launchers", json);
    options.remark(
        {"deadline", "deadlines", "steps", "epochs", "models", "global-batch", "priority"},
        "every job says its own in JOBS.json: \"deadline_s\", \"steps\" (docs/multi.md)");
    options.remark({"time-limit", "budget", "timeout", "max-time"},
                   "leave it out: the search ends by itself; how long a job may take is its "
                   "\"deadline_s\" in JOBS.json");
    options.remark({"memory", "mem", "vram", "gpu-memory", "hbm"},
                   "leave it out: the jobs' profiles and cluster say how much memory a GPU has, or "
                   "the datasheet of --device NAME");
  }
};

std::vector<MultiStretch> stretches_of(const std::vector<GpuBlock>& blocks) {
  std::vector<MultiStretch> stretches;
  stretches.reserve(blocks.size());
  for (const GpuBlock& block : blocks) {
    stretches.push_back({block.gpu, block.model, block.start, block.end});
  }
  return stretches;
}

std::vector<MultiJob> jobs_of(const MultiQuestion& question, const std::vector<ModelRun>& models) {
  std::vector<MultiJob> jobs;
  jobs.reserve(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    jobs.push_back({question.models[i].name, models[i].start, models[i].end, models[i].gpus,
                    models[i].words, question.models[i].wishes.deadline});
  }
  return jobs;
}

MultiReport new_schedule(const AskedMulti& asked) {
  const MultiQuestion& question = asked.question;
  const MultiAnswer answer = schedule_models(question);
  MultiReport report;
  report.gpus = question.gpus();
  report.bound = answer.bound;
  report.best = answer.best;
  report.ways.reserve(answer.candidates.size());
  for (const MultiCandidate& candidate : answer.candidates) {
    report.ways.push_back({candidate.name, candidate.value.makespan, candidate.value.late_seconds});
  }
  report.jobs = jobs_of(question, answer.models);
  report.stretches = stretches_of(answer.blocks);
  report.notes = asked.notes;
  return report;
}

// Those that have not begun, as a schedule of all jobs would begin them.
std::vector<GangChoice> not_begun(const AskedMulti& asked, const std::vector<GangTask>& tasks) {
  std::vector<GangChoice> order = greedy_gangs(tasks, asked.question.nodes);
  std::erase_if(order, [&](const GangChoice& choice) {
    return asked.running[static_cast<std::size_t>(choice.task)].has_value();
  });
  return order;
}

MultiReport schedule_from_now(const AskedMulti& asked, Duration restart, Duration least_gain) {
  const MultiQuestion& question = asked.question;
  const std::vector<GangTask> tasks = as_gangs(question);
  Replanning replanning{asked.running, restart, least_gain, {}};
  replanning.search.seed = question.seed;
  const Replanned found = replan_gangs(tasks, question.nodes, not_begun(asked, tasks), replanning);
  MultiReport report;
  report.gpus = question.gpus();
  report.ways = {{"as it is now", found.goes_on, 0.0}};
  if (found.changes) {
    report.ways.push_back({"a new schedule", found.schedule.makespan(),
                           value_of(found.schedule, tasks).late_seconds});
    report.best = 1;
  } else {
    report.ways.front().late_seconds = value_of(found.schedule, tasks).late_seconds;
  }
  report.jobs = jobs_of(question, model_runs(found.schedule, tasks));
  report.stretches = stretches_of(blocks_of(found.schedule));
  report.notes = asked.notes;
  report.change = MultiChange{found.goes_on, restart, found.restarts, found.changes};
  return report;
}

bool is_late(const MultiReport& report) { return report.ways[report.best].late_seconds > 0.0; }

}  // namespace

Answer run_multi(const Arguments& arguments, Screen screen) {
  MultiOptions given;
  Options options("multi JOBS.json --gpus N [OPTIONS]",
                  "Puts several models on the same GPUs: tries whole jobs, gangs of GPUs with a "
                  "plan for every number of them, and units of spilled models (Sharded-LRTF), and "
                  "prints the best schedule beside the bound that none can beat. Exit code 1 when "
                  "a deadline is missed.",
                  kExamples);
  given.declare(options);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  if (given.output) require_page_name(*given.output);
  const Duration restart = parse_budget("--restart", given.restart.value_or(kRestart));
  const Duration least_gain = parse_budget("--least-gain", given.least_gain.value_or("0s"));
  const Loaded<Json> json = load_jobs(given.jobs);
  const JobsFile file = read_jobs_file(json.value, given.jobs);
  AskedMulti asked = multi_question(file, given.jobs, given.settings);
  if (!asked.complete)
    return {"", kStopped, "the search was stopped before all models had plans\n"};
  asked.inputs.insert(asked.inputs.begin(), {"jobs", json.file});
  const bool runs = std::any_of(asked.running.begin(), asked.running.end(),
                                [](const auto& running) { return running.has_value(); });
  const MultiReport report =
      runs ? schedule_from_now(asked, restart, least_gain) : new_schedule(asked);
  const int exit = is_late(report) ? kNo : kYes;
  if (given.output) {
    const PageHead head{
        fmt::format("penstock {}", version()), command_of("multi", arguments),
        fmt::format("{} on {}", count_of(static_cast<std::int64_t>(report.jobs.size()), "job"),
                    count_of(report.gpus, "GPU")),
        asked.inputs};
    const std::string html = report_page(head.title, multi_page_json(head, report), {});
    if (*given.output == "-") return {html, exit};
    write_output(*given.output, html);
  }
  if (!given.json) return report_answer(multi_text(report, screen), exit);
  Json answer = answer_json("multi").set("jobs_file", given.jobs);
  return json_answer(answer.set("result", multi_json(report)), exit);
}

}  // namespace penstock
