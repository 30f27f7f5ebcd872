// penstock listen: passes a cloud's notices about this machine on to the manager of a job.
//
// What the providers say is read in manager/notices; this file chooses one of them, finds the
// manager anew for every message, and ends on a signal.
#include "manager/notices/listen.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "cli/answers/commands/typed_command.h"
#include "cli/options/options.h"
#include "cli/parts/manager_of_job.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/json_reader.h"
#include "manager/notices/aws.h"
#include "manager/notices/azure.h"
#include "manager/notices/gcp.h"
#include "manager/port/http_client.h"
#include "manager/port/job_status.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock listen job.json --cloud aws --machine node3
  penstock listen job.json --cloud gcp --machine node3 --notice 120s
  penstock listen job.json --cloud azure --machine node3 --vm train_3
  penstock listen job.json --cloud aws --machine node3 --manager 10.0.0.1:4270 --key token
)";

struct ListenOptions {
  TypedCommand command;
  std::string job;
  std::optional<std::string> cloud, machine, vm, metadata, notice;
  ManagerOptions manager;
  bool once = false;

  void declare(Options& options) {
    options.keep_command(command);
    options.positional("JOB", "the job file that penstock manage runs", job);
    options.heading("Whose notices");
    options.option("--cloud", "NAME", "aws, gcp or azure", cloud);
    options.choices({"aws", "gcp", "azure"});
    options.option("--machine", "NAME", "name of this machine in the job", machine);
    options.option("--vm", "NAME", "name of this machine in Azure's events; default: --machine",
                   vm);
    options.option("--notice", "TIME",
                   "with gcp: time from the notice to the end of the machine (default 30s; 120s "
                   "with preemptionNoticeDuration)",
                   notice);
    options.option("--metadata", "http://HOST:PORT", "ask this metadata service instead, for tests",
                   metadata);
    options.flag("--once", "ask once, pass on the notices, and end", once);
    options.heading("The manager");
    manager.declare(options);
  }
};

// The manager over the network; found anew for every message, since it may have been started again
// elsewhere.
class DistantManager final : public NoticeReceiver {
 public:
  DistantManager(JobFile job, ManagerOptions options)
      : job_(std::move(job)), options_(std::move(options)) {}

  SentCommand tell(const CommandGiven& command) override {
    if (!manager_address(job_, options_)) return {false, false, "it has not written its address"};
    return line_to_manager(job_, options_).send(command);
  }

  bool has_left(const std::vector<std::string>& machines) override {
    if (!manager_address(job_, options_)) return false;
    std::string trouble;
    const auto text = line_to_manager(job_, options_).status(trouble);
    if (!text) return false;
    const std::string source = "the manager's answer";
    for (const MachineStatus& machine :
         read_job_status(parse_json(*text, source), source).machines) {
      const bool is_meant = std::ranges::find(machines, machine.name) != machines.end();
      if (is_meant && !machine.ranks.empty()) return false;
    }
    return true;
  }

 private:
  JobFile job_;
  ManagerOptions options_;
};

std::unique_ptr<CloudNotices> notices_of(const ListenOptions& given) {
  const std::string cloud = required(given.cloud, "--cloud", given.command);
  const auto at = [&](const char* own) {
    return http_exchange(parse_http_address("--metadata", given.metadata.value_or(own)));
  };
  if (given.notice && cloud != "gcp") {
    bad_option("--notice", "only gcp needs it: the other clouds announce the time themselves",
               "leave it out");
  }
  if (cloud == "aws") return aws_notices(at(kAwsMetadata));
  if (cloud == "azure") return azure_notices(at(kAzureMetadata));
  if (cloud != "gcp") unknown_word("--cloud", cloud, {"aws", "gcp", "azure"});
  GcpOptions options;
  if (given.notice) options.notice = parse_budget("--notice", *given.notice);
  return gcp_notices(at(kGcpMetadata), options);
}

}  // namespace

Answer run_listen(const Arguments& arguments, Screen screen) {
  ListenOptions given;
  Options options("listen JOB --cloud NAME --machine NAME [OPTIONS]",
                  "Runs on a cloud machine: asks the cloud's metadata service whether the machine "
                  "will be taken away, and tells the manager of the job. Prints every notice on "
                  "stderr, and runs until a signal ends it.",
                  kExamples);
  given.declare(options);
  options.remark({"port", "bind", "address", "host", "listen"},
                 "it opens no port: it asks the cloud whether this machine will be taken away, and "
                 "tells the manager: penstock listen job.json --cloud aws --machine NAME");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  const bool is_cloud = given.job == "aws" || given.job == "gcp" || given.job == "azure";
  if (is_cloud && !given.cloud) {
    bad_option("JOB", "missing",
               fmt::format("the job comes first, and the cloud has an option: penstock listen "
                           "job.json --cloud {} --machine {}",
                           given.job, given.machine.value_or("node3")));
  }
  if (!given.cloud && !given.machine) {
    bad_option("--cloud, --machine", "missing", "add them, for example " + given.command.whole());
  }
  const std::string& machine = required(given.machine, "--machine", given.command);
  const auto cloud = notices_of(given);
  DistantManager manager(load_job(given.job), given.manager);
  NoticeListener listener(*cloud, manager, machine, given.vm.value_or(machine));
  while (true) {
    for (const std::string& line : listener.listen_once(utc_now)) {
      std::fputs(fmt::format("{} {}\n", to_text(utc_now()), line).c_str(), stderr);
    }
    if (given.once) return {};
    std::this_thread::sleep_for(cloud->pause());
  }
}

}  // namespace penstock
