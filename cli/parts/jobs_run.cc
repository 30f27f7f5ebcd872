// The jobs of a file as gangs: the schedule of `penstock multi` says on which ranks each runs and
// in which order. A job is `penstock train PLAN` in a process of its own, with its options of the
// file behind those that are the same for all: so one that fails, hangs or is killed takes no other
// with it, and what it prints is in its own files.
#include "cli/parts/jobs_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/jobs_view.h"
#include "cli/reports/multi_question.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "multi/gang_search.h"
#include "multi/jobs_file.h"
#include "report/result_json.h"
#include "report/words.h"
#include "runtime_bridge/run_jobs.h"

namespace penstock {
namespace {

struct Scheduled {
  std::vector<ScheduledJob> jobs;  // as in the file
  Duration makespan{}, bound{}, one_after_another{};
};

Scheduled schedule_of(const JobsFile& file, const std::string& path, int ranks) {
  MultiSettings settings;
  settings.gpus = std::to_string(ranks);
  const AskedMulti asked = multi_question(file, path, settings);
  const std::vector<GangTask> tasks = as_gangs(asked.question);
  const NodeSizes& nodes = asked.question.nodes;
  const GangSchedule found =
      list_gangs(tasks, nodes, search_gangs(tasks, nodes, {asked.question.seed}));
  Scheduled scheduled;
  scheduled.jobs.resize(tasks.size());
  for (const GangRun& run : found.runs) {
    const auto job = static_cast<std::size_t>(run.task);
    scheduled.jobs[job] = {tasks[job].name, run.gpus, run.start, run.end};
  }
  scheduled.makespan = found.makespan();
  scheduled.bound = gang_bound(tasks, nodes);
  scheduled.one_after_another = list_gangs(tasks, nodes, one_after_another(tasks)).makespan();
  return scheduled;
}

void require_plans(const JobsFile& file, const std::string& path) {
  for (const Job& job : file.jobs) {
    if (job.name.find('/') != std::string::npos || job.name.front() == '.') {
      throw_bad_input(
          path + ": job \"" + job.name +
          "\": its files are called after it\nhelp: give it a name that a file can have");
    }
    if (!job.running_on.empty() || job.done_steps > 0) {
      throw_bad_input(
          path + ": job \"" + job.name +
          "\" has begun, says the file\nhelp: give it --checkpoints and --resume in its "
          "\"train\", and remove \"done_steps\" and \"running_on\"");
    }
    if (!job.plan.empty()) continue;
    throw_bad_input(
        path + ": job \"" + job.name +
        "\" has no plan to train by\nhelp: make one with penstock plan -o, and name it: "
        "\"plan\": \"plan.json\"");
  }
}

bool has_option(const std::vector<std::string>& options, const std::string& name) {
  return std::ranges::any_of(options, [&](const std::string& each) {
    return each == name || each.starts_with(name + "=");
  });
}

class JobsRun {
 public:
  JobsRun(const JobsToRun& wanted, const JobsFile& file, const Scheduled& scheduled)
      : wanted_(wanted), file_(file), scheduled_(scheduled) {}

  std::vector<JobEnd> run() {
    std::vector<ViewedJob> viewed;
    for (std::size_t i = 0; i < file_.jobs.size(); ++i) {
      viewed.push_back(
          {file_.jobs[i].name, log_of(i), file_.jobs[i].steps, scheduled_.jobs[i].ranks});
      std::filesystem::remove(log_of(i));
    }
    JobsView view(std::move(viewed));
    RunJobsOptions options;
    options.start = [this](std::size_t job) { return start(job); };
    options.is_stopped = wanted_.is_stopped;
    options.observer = &view;
    return run_jobs(scheduled_.jobs, options);
  }

  [[nodiscard]] std::string log_of(std::size_t job) const { return at(job, ".jsonl"); }
  [[nodiscard]] std::string errors_of(std::size_t job) const { return at(job, ".err"); }

 private:
  [[nodiscard]] std::string at(std::size_t job, const char* ending) const {
    return wanted_.folder + "/" + file_.jobs[job].name + ending;
  }

  int start(std::size_t job) const {
    const Job& of_file = file_.jobs[job];
    ChildProgram child;
    child.program = "/proc/self/exe";
    child.arguments = {"train", of_file.plan, "--steps", std::to_string(of_file.steps),
                       "--log", log_of(job)};
    if (!has_option(of_file.train, "--checkpoints")) {
      child.arguments.insert(child.arguments.end(), {"--checkpoints", at(job, ".checkpoints")});
    }
    child.arguments.insert(child.arguments.end(), of_file.train.begin(), of_file.train.end());
    std::string gpus;
    for (const int rank : scheduled_.jobs[job].ranks) {
      gpus += (gpus.empty() ? "" : ",") + std::to_string(rank);
    }
    child.environment = {{"CUDA_VISIBLE_DEVICES", gpus}};
    child.output = at(job, ".txt");
    child.errors = errors_of(job);
    return start_child(child);
  }

  const JobsToRun& wanted_;
  const JobsFile& file_;
  const Scheduled& scheduled_;
};

std::string first_error_in(const std::string& path) {
  if (!std::filesystem::exists(path)) return "";
  const std::string text = read_file(path);
  const std::size_t at = text.find("error: ");
  if (at == std::string::npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

Answer run_jobs_of_file(const JobsToRun& wanted, Screen /*screen*/) {
  const Loaded<Json> json = load_json(wanted.file);
  expect_format(json.value, wanted.file, "penstock.jobs/1");
  const JobsFile file = read_jobs_file(json.value, wanted.file);
  require_plans(file, wanted.file);
  const Scheduled scheduled = schedule_of(file, wanted.file, wanted.ranks);
  std::filesystem::create_directories(wanted.folder);
  JobsRun run(wanted, file, scheduled);
  const std::vector<JobEnd> ends = run.run();

  Duration makespan{};
  int failed = 0;
  bool is_stopped = false;
  std::string text;
  Json jobs = Json::array();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const JobEnd& end = ends[i];
    makespan = std::max(makespan, end.end);
    is_stopped = is_stopped || !end.was_started || end.exit_code == kStopped;
    const bool has_failed = end.failed() && end.exit_code != kStopped;
    if (has_failed) ++failed;
    const JobProgress progress = read_progress(run.log_of(i));
    const ScheduledJob& planned = scheduled.jobs[i];
    text += fmt::format("{}   {} to {} (planned {} to {})\n",
                        job_line({file.jobs[i].name, "", file.jobs[i].steps, planned.ranks},
                                 progress, words_of(end)),
                        to_text(end.start), to_text(end.end), to_text(planned.start),
                        to_text(planned.end));
    if (has_failed) {
      const std::string why = first_error_in(run.errors_of(i));
      text += fmt::format("  {}{}\n", why.empty() ? "" : why + "; ", "see " + run.errors_of(i));
    }
    Json job = Json::object()
                   .set("name", file.jobs[i].name)
                   .set("outcome", words_of(end))
                   .set("steps", progress.steps)
                   .set("start_ns", std::int64_t{end.start.count()})
                   .set("end_ns", std::int64_t{end.end.count()})
                   .set("planned_start_ns", std::int64_t{planned.start.count()})
                   .set("planned_end_ns", std::int64_t{planned.end.count()})
                   .set("log", run.log_of(i));
    Json ranks = Json::array();
    for (const int rank : planned.ranks) ranks.push(rank);
    job.set("ranks", std::move(ranks));
    if (progress.loss) job.set("loss", *progress.loss);
    jobs.push(std::move(job));
  }
  text +=
      fmt::format("all jobs: {}; planned {}, one after another {}, and no schedule is below {}\n",
                  to_text(makespan), to_text(scheduled.makespan),
                  to_text(scheduled.one_after_another), to_text(scheduled.bound));
  const int exit = failed > 0 ? kNo : is_stopped ? kStopped : kYes;
  if (!wanted.json) return report_answer(text, exit);
  Json answer = answer_json("train").set("jobs_file", wanted.file);
  answer.set("makespan_ns", std::int64_t{makespan.count()})
      .set("planned_makespan_ns", std::int64_t{scheduled.makespan.count()})
      .set("one_after_another_ns", std::int64_t{scheduled.one_after_another.count()})
      .set("bound_ns", std::int64_t{scheduled.bound.count()})
      .set("jobs", std::move(jobs));
  return json_answer(answer, exit);
}

}  // namespace penstock
