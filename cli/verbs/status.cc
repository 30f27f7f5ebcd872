// penstock status: the state of a managed job, from its manager or from what the last one kept.
//
// The manager is asked first. Where none answers, its store is read without changing it, and the
// answer says so: the same table, and an exit code that scripts can tell apart.
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/parts/manager_of_job.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "manager/job_store.h"
#include "manager/port/job_status.h"
#include "manager/port/status_text.h"
#include "manager/run_folder.h"
#include "report/result_json.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock status job.json
  penstock status job.json --watch
  penstock status job.json --json
)";
constexpr std::size_t kDecisionsShown = 10;
constexpr auto kWatched = std::chrono::seconds(1);

// What was found, and whether by a manager that runs.
struct FoundStatus {
  JobStatus status;
  std::string without;  // why no manager answered; empty: one did
};

// What a manager has kept, when none answers.
JobStatus stored_status(const JobFile& job, const std::string& why) {
  const std::string path = state_path(job.run_folder);
  if (!std::filesystem::exists(path)) {
    throw Error(
        ErrorKind::kMissingResource,
        fmt::format(
            "{}: no manager of '{}' has run here yet ({})\nhelp: start one with penstock manage",
            job.run_folder, job.name, why));
  }
  const JobStore store(path);
  const auto state = store.state();
  if (!state) {
    throw Error(ErrorKind::kMissingResource,
                path +
                    ": the manager has started but not decided anything yet\nhelp: ask again in a "
                    "moment; if it has ended, start it again with penstock manage");
  }
  JobSeen seen;
  seen.steps = job.steps;
  seen.decisions = store.log(kDecisionsShown);
  return job_status(*state, seen, utc_now());
}

FoundStatus find_status(const JobFile& job, const ManagerOptions& given) {
  std::string trouble = "it has not written its address";
  if (manager_address(job, given)) {
    ManagerLine line = line_to_manager(job, given);
    if (const auto text = line.status(trouble)) {
      return {read_job_status(parse_json(*text, "the manager's answer"), "the manager's answer"),
              ""};
    }
  }
  return {stored_status(job, trouble), trouble};
}

bool has_ended(const JobStatus& status) {
  return status.phase == name_of(JobPhase::kFinished) ||
         status.phase == name_of(JobPhase::kStopped) || status.phase == name_of(JobPhase::kFailed);
}

Answer answer_of(const FoundStatus& found, bool json, Screen screen) {
  const bool is_well = found.without.empty() || found.status.phase == name_of(JobPhase::kFinished);
  const int exit = is_well ? kYes : kNo;
  if (json) {
    Json object = answer_json("status");
    object.set("manager_answers", found.without.empty());
    object.set("status", write_job_status(found.status));
    return json_answer(object, exit);
  }
  Answer answer = report_answer(status_text(found.status, utc_now(), screen), exit);
  if (!found.without.empty()) {
    answer.remark = fmt::format("No manager answers ({}). This is the last state that was kept.\n",
                                found.without);
  }
  return answer;
}

// Until the job has ended, or nobody manages it any more. On a terminal each text takes the place
// of the one before.
Answer watch(const JobFile& job, const ManagerOptions& given, bool json, Screen screen) {
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  while (true) {
    const FoundStatus found = find_status(job, given);
    Answer answer = answer_of(found, json, screen);
    if (has_ended(found.status) || !found.without.empty()) return answer;
    std::fputs(
        ((is_terminal ? "\x1b[H\x1b[2J" : "") + answer.text + (is_terminal ? "" : "\n")).c_str(),
        stdout);
    std::fflush(stdout);
    std::this_thread::sleep_for(kWatched);
  }
}

}  // namespace

Answer run_status(const Arguments& arguments, Screen screen) {
  std::string path;
  ManagerOptions manager;
  bool json = false;
  bool watched = false;
  Options options(
      "status JOB [OPTIONS]",
      "Shows the state of a managed job: phase, plan, machines, step, loss, speed compared with "
      "the prediction, checkpoints, restarts, lost steps, and the last decisions with their "
      "reasons. Exit code 1: no manager answers, and you see the last state that was kept.",
      kExamples);
  options.heading("The job");
  options.positional("JOB", "the job file that penstock manage runs", path);
  options.heading("The manager");
  manager.declare(options);
  options.heading("What to print");
  options.flag("--watch", "repeat every second until the job ends", watched);
  options.flag("--json", "print the answer as one JSON object", json);
  options.remark({"a", "all", "list", "user", "u"},
                 "one job at a time, by its file: penstock status job.json --watch");
  options.remark({"interval", "every", "period", "n", "seconds"},
                 "write --watch: it repeats every second until the job ends");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  const JobFile job = load_job(path);
  return watched ? watch(job, manager, json, screen)
                 : answer_of(find_status(job, manager), json, screen);
}

}  // namespace penstock
