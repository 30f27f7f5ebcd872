// `penstock manage` wires a manager to the world: the book's plans as files, the machines, the
// store, the log, the signals. What to do is decided in manager/.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/job_file.h"
#include "cli/io/environment.h"
#include "cli/io/files.h"
#include "cli/io/found_plans.h"
#include "cli/io/launch_ranks.h"
#include "cli/io/manage_signals.h"
#include "cli/io/one_device_type.h"
#include "cli/options/options.h"
#include "cli/parts/manager_of_job.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "core/values/finite_or_null.h"
#include "core/values/json_reader.h"
#include "core/values/loaded.h"
#include "core/values/plan_book.h"
#include "manager/checkpoint_watch.h"
#include "manager/hosts/command_hosts.h"
#include "manager/hosts/host_ranks.h"
#include "manager/hosts/local_hosts.h"
#include "manager/hosts/machine_file_source.h"
#include "manager/job_store.h"
#include "manager/log_line.h"
#include "manager/manage_job.h"
#include "manager/notices/cloud_events.h"
#include "manager/port/open_port.h"
#include "manager/run_folder.h"
#include "manager/slow_ranks_source.h"
#include "report/result_json.h"
#include "report/words.h"
#include "runtime_bridge/rank_program.h"
#include "studies/book_rungs.h"
#include "studies/plan_of_page.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples =
    R"(  penstock manage --example > job.json
  penstock manage job.json
  kill -USR1 PID     # write a checkpoint and go on
  kill PID           # write a checkpoint and stop the job; the same command continues it
  penstock plan model.json --cluster machine.json --gpus 1..4 --for penstock -o book.json
)";

constexpr const char* kAbout =
    "Keeps one job running on machines that come and go. It starts the ranks, picks the book's "
    "plan for the GPUs that are there, writes a checkpoint before an announced loss, and restarts "
    "from the newest checkpoint after any other loss. The run folder keeps every decision with its "
    "reason. You may kill the manager at any moment: the same command takes over the running job. "
    "Exit code 0: all steps are done; 1: the job has failed; 4: it was stopped.";

constexpr std::chrono::milliseconds kPause{50};

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(ErrorKind::kMissingResource, path + ": this folder cannot be created: " +
                                                 error.message() + "\nhelp: name another folder");
  }
}

// Ranks that end at once would be restarted again and again.
void require_can_run(const PlanFile& plan, const std::string& book) {
  std::string why;
  try {
    static_cast<void>(model_of(plan));
    why = why_not_run(plan);
  } catch (const Error& error) {
    why = error.what();
  }
  if (why.empty()) return;
  throw_bad_input(
      fmt::format("{}: the plan for {}: {}", book, count_of(plan.plan.devices(), "GPU"), why));
}

// Writes a plan file per page, which does no harm to ranks that are about to read it.
JobRules rules_of(JobFile job, const Loaded<PlanBook>& loaded) {
  const PlanBook& book = loaded.value;
  JobRules rules;
  make_folder(job.run_folder + "/plans");
  rules.types = book.types;
  for (std::size_t p = 0; p < book.pages.size(); ++p) {
    const BookPage& page = book.pages[p];
    if (!page.plan) continue;
    PlanPage its = page_of_plan(book, page_number(book, p), *page.plan, page.step_time);
    const bool known = std::ranges::any_of(rules.pages, [&](const PlanPage& other) {
      return other.gpus == its.gpus && other.step == its.step && other.devices == its.devices;
    });
    if (known) continue;
    const PlanFile file = plan_file_of(book, cluster_of(book, page), *page.plan, loaded.file);
    require_can_run(file, job.book);
    write_file(plan_path(job.run_folder, its.page), text_of(file));
    rules.pages.push_back(std::move(its));
  }
  if (rules.pages.empty()) {
    throw_bad_input(job.book +
                    ": this book has no plan, because nothing fits its numbers of GPUs\nhelp: make "
                    "it for more GPUs (penstock plan --gpus 1..64 -o book.json)");
  }
  rules.write = job.write.value_or(
      transfer_time(checkpoint_bytes(book.profile), BytesPerSecond{job.storage_bytes_per_s}));
  if (job.ranks.kind == RankStarter::Kind::kLocal) {
    rules.processors = static_cast<int>(std::thread::hardware_concurrency());
  }
  rules.advised = job.watch_slow_ranks;
  rules.job = std::move(job);
  return rules;
}

std::unique_ptr<HostAccess> hosts_of(const JobFile& job) {
  if (job.ranks.kind == RankStarter::Kind::kLocal) {
    return std::make_unique<LocalHosts>(process_environment());
  }
  return std::make_unique<CommandHosts>(CommandTemplate(job.ranks.start),
                                        fs::current_path().string(), std::chrono::seconds(20));
}

// On other machines the program is where their PATH has it.
std::string program_of(const JobFile& job) {
  if (job.ranks.kind == RankStarter::Kind::kCommand) return "penstock";
  return fs::read_symlink("/proc/self/exe").string();
}

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

// decisions.jsonl: what the store has, and every line that follows.
class DecisionLog {
 public:
  DecisionLog(const std::string& path, const JobStore& store) : path_(path) {
    std::string text;
    for (const LogEntry& entry : store.log(kAll)) text += line_of(entry);
    write_file(path, text);
  }
  void add(const LogEntry& entry) const {
    std::ofstream(path_, std::ios::app) << line_of(entry) << std::flush;
    say(log_line(entry));
  }

 private:
  static constexpr std::size_t kAll = std::size_t{1} << 31;
  static std::string line_of(const LogEntry& entry) {
    return to_text(write_log_entry(entry), 1 << 20) + '\n';
  }
  std::string path_;
};

Answer answer_of(const JobState& state, const std::string& path, bool as_json) {
  const int exit = state.phase == JobPhase::kFinished  ? kYes
                   : state.phase == JobPhase::kStopped ? kStopped
                                                       : kNo;
  if (as_json) {
    Json json = Json::object();
    json.set("schema_version", kResultSchemaVersion).set("verb", "manage").set("job", path);
    json.set("phase", std::string(name_of(state.phase))).set("why", state.why);
    json.set("checkpoint_step", state.checkpoint_step);
    if (state.last_step > 0) json.set("last_loss", finite_or_null(state.last_loss));
    json.set("generations", state.generation.number).set("restarts", state.restarts);
    json.set("lost_steps", state.lost_steps);
    return json_answer(json, exit);
  }
  return report_answer(
      fmt::format("{} has {}: {}; checkpoint of step {}, {}, {} done again\n", state.job,
                  name_of(state.phase), state.why, state.checkpoint_step,
                  count_of(state.restarts, "restart"), count_of(state.lost_steps, "step")),
      exit);
}

JobState manage(const JobRules& rules, const Loaded<PlanBook>& book) {
  const JobFile& job = rules.job;
  JobStore store(state_path(job.run_folder));
  const DecisionLog decisions(decisions_path(job.run_folder), store);
  const std::unique_ptr<HostAccess> hosts = hosts_of(job);
  HostRanks ranks(*hosts, host_ranks_options(job, fs::current_path().string(), program_of(job)));
  std::vector<std::unique_ptr<EventSource>> sources;
  sources.push_back(std::make_unique<CheckpointWatch>(job.checkpoints));
  sources.push_back(std::make_unique<ManageSignals>(utc_now));
  if (!job.machine_file.empty()) {
    sources.push_back(std::make_unique<MachineFileSource>(job.machine_file, utc_now, say));
  }
  sources.push_back(std::make_unique<SlowRanksSource>(job.run_folder, say));
  sources.push_back(std::make_unique<FoundPlans>(job, book.value, book.file, utc_now, say));
  if (auto port = open_port(job, book.value, utc_now)) {
    sources.push_back(std::move(port));
  }
  for (const NoticeSource& source : job.notices) {
    sources.push_back(cloud_events(source, utc_now));
  }
  JobWorld world{ranks,
                 {},
                 utc_now,
                 [] { std::this_thread::sleep_for(kPause); },
                 [&decisions](const LogEntry& entry) { decisions.add(entry); },
                 say};
  for (const auto& source : sources) world.sources.push_back(source.get());
  return manage_job(rules, store, first_state(rules, new_token(), utc_now()), world);
}

Answer example_of_job() {
  return {to_text(parse_json(kLeastJobFile, "job.json")) + '\n', kYes,
          fmt::format("book.json is what penstock plan PROFILE --cluster FILE --gpus 8..64 "
                      "--global-batch N --for penstock -o book.json writes, and {}; then penstock "
                      "manage job.json\n",
                      kMachineLines)};
}

}  // namespace

Answer run_manage(const Arguments& arguments, Screen screen) {
  std::optional<std::string> path;
  bool json = false, example = false;
  Options options("manage JOB.json [--json]", kAbout, kExamples);
  options.heading("The job");
  options.positional_if_any("JOB", "the job file (penstock.job/1, docs/file_formats.md)", path);
  options.flag("--example", "print a job file to edit, and run nothing", example);
  options.flag("--json", "print how the job ended as one JSON object", json);
  options.remark({"gpus", "nodes", "machines", "hosts", "machine", "machine-file"},
                 "list the machines in the machine_file that the job file names, or let one join "
                 "while the job runs: penstock tell JOB join node4 --gpus 8");
  options.remark(
      {"name", "namespace", "job-name", "label", "image", "env", "file", "f", "config", "replicas",
       "min", "max", "retries", "timeout"},
      "leave it out: the job file is all that is given: penstock manage job.json; what it can say "
      "stands in docs/file_formats.md (penstock.job/1)");
  options.remark({"dry-run", "dryrun", "simulate", "preview"},
                 "penstock morph --book book.json --trace trace.csv replays how a job would fare, "
                 "on a recording of GPUs that come and go");
  options.remark({"port", "host", "address", "listen", "bind"},
                 "the job file says it: \"address\": \"127.0.0.1:4270\"; port 0, the default, is a "
                 "free one");
  options.remark({"daemon", "background", "detach", "d", "foreground", "service"},
                 "leave it out: it stays in the foreground; nohup penstock manage JOB & or a "
                 "service of systemd keeps it running");
  options.remark({"book", "data", "steps", "train", "checkpoints", "run-folder", "notices",
                  "checkpoint-every"},
                 "the job file says it: \"book\", \"steps\", \"checkpoints\", \"train\": "
                 "[\"--data\", \"corpus.txt\"] (docs/file_formats.md)");
  options.remark({"resume", "restart", "continue", "resume-if-any", "takeover", "adopt", "attach"},
                 "leave it out: started again, penstock manage takes over the running job, or "
                 "continues it from its newest checkpoint");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  if (example) return example_of_job();
  if (!path) {
    bad_option("JOB", "missing",
               fmt::format("name the job file: penstock manage job.json; {} writes one to edit",
                           kWriteJobFile));
  }
  JobFile job = load_job(*path);
  check_address(job);
  const Loaded<PlanBook> book = load_plan_book(job.book);
  if (!book.value.counts_types()) require_one_device_type(book, "a job's list of machines");
  return answer_of(manage(rules_of(std::move(job), book), book), *path, json);
}

}  // namespace penstock
