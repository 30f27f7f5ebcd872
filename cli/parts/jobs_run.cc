// The jobs of a file as gangs: the schedule of `penstock multi` says on which ranks each runs and
// in which order. A job is `penstock train PLAN` in a process of its own, with its options of the
// file behind those that are the same for all: so one that fails, hangs or is killed takes no other
// with it, and what it prints is in its own files.
#include "cli/parts/jobs_run.h"

#include <algorithm>
#include <filesystem>
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
  for (const GangTask& task : tasks) {
    scheduled.one_after_another +=
        std::ranges::min_element(task.options, {}, &GangOption::runtime)->runtime;
  }
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
    // Ranks that sleep have nothing to keep.
    if (!has_option(of_file.train, "--checkpoints") && !has_option(of_file.train, "--virtual")) {
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

// What is said of the run at its end.
class JobsReport {
 public:
  JobsReport(const JobsFile& file, const Scheduled& scheduled, const JobsRun& run,
             const std::vector<JobEnd>& ends)
      : file_(file), scheduled_(scheduled), run_(run), ends_(ends) {}

  [[nodiscard]] int exit() const {
    const auto is_stopped = [](const JobEnd& end) {
      return !end.was_started || end.exit_code == kStopped;
    };
    if (std::ranges::any_of(ends_, has_failed)) return kNo;
    return std::ranges::any_of(ends_, is_stopped) ? kStopped : kYes;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (std::size_t i = 0; i < ends_.size(); ++i) text += lines_of(i);
    text +=
        fmt::format("all jobs: {}; planned {}, one after another {}, and no schedule is below {}\n",
                    to_text(makespan()), to_text(scheduled_.makespan),
                    to_text(scheduled_.one_after_another), to_text(scheduled_.bound));
    return text;
  }

  [[nodiscard]] Json json() const {
    Json jobs = Json::array();
    for (std::size_t i = 0; i < ends_.size(); ++i) jobs.push(json_of(i));
    return Json::object()
        .set("makespan_ns", ns(makespan()))
        .set("planned_makespan_ns", ns(scheduled_.makespan))
        .set("one_after_another_ns", ns(scheduled_.one_after_another))
        .set("bound_ns", ns(scheduled_.bound))
        .set("jobs", std::move(jobs));
  }

 private:
  static std::int64_t ns(Duration duration) { return duration.count(); }
  static bool has_failed(const JobEnd& end) { return end.failed() && end.exit_code != kStopped; }

  [[nodiscard]] Duration makespan() const {
    Duration last{};
    for (const JobEnd& end : ends_) last = std::max(last, end.end);
    return last;
  }

  [[nodiscard]] std::string lines_of(std::size_t i) const {
    const JobEnd& end = ends_[i];
    const ScheduledJob& planned = scheduled_.jobs[i];
    std::string lines = fmt::format(
        "{}   {} to {} (planned {} to {})\n",
        job_line({file_.jobs[i].name, "", file_.jobs[i].steps, planned.ranks},
                 read_progress(run_.log_of(i)), words_of(end)),
        to_text(end.start), to_text(end.end), to_text(planned.start), to_text(planned.end));
    if (!has_failed(end)) return lines;
    const std::string why = first_error_in(run_.errors_of(i));
    return lines + "  " + (why.empty() ? "" : why + "; ") + "see " + run_.errors_of(i) + "\n";
  }

  [[nodiscard]] Json json_of(std::size_t i) const {
    const JobProgress progress = read_progress(run_.log_of(i));
    const ScheduledJob& planned = scheduled_.jobs[i];
    Json ranks = Json::array();
    for (const int rank : planned.ranks) ranks.push(rank);
    Json job = Json::object()
                   .set("name", file_.jobs[i].name)
                   .set("ranks", std::move(ranks))
                   .set("outcome", words_of(ends_[i]))
                   .set("steps", progress.steps)
                   .set("start_ns", ns(ends_[i].start))
                   .set("end_ns", ns(ends_[i].end))
                   .set("planned_start_ns", ns(planned.start))
                   .set("planned_end_ns", ns(planned.end))
                   .set("log", run_.log_of(i));
    if (progress.loss) job.set("loss", *progress.loss);
    return job;
  }

  const JobsFile& file_;
  const Scheduled& scheduled_;
  const JobsRun& run_;
  const std::vector<JobEnd>& ends_;
};

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
  const JobsReport report(file, scheduled, run, ends);
  if (!wanted.json) return report_answer(report.text(), report.exit());
  Json answer = answer_json("train").set("jobs_file", wanted.file);
  return json_answer(answer.set("result", report.json()), report.exit());
}

}  // namespace penstock
