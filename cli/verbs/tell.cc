// penstock tell: one signed command to the manager of a job.
//
// What a command needs (a machine, GPUs, a time) is checked before the manager is called, so that a
// mistyped command is answered with the right one also where no manager runs.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/io/shell_word.h"
#include "cli/parts/manager_of_job.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "manager/port/command_message.h"
#include "report/result_json.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock tell job.json join node4 --gpus 8
  penstock tell job.json leave node3
  penstock tell job.json preempt node3 --in 2min
  penstock tell job.json preempt node3 --at 2026-11-24T01:25:43Z
  penstock tell job.json checkpoint
  penstock tell job.json stop
)";

struct TellOptions {
  std::string job;
  std::optional<std::string> command, machine, gpus, device, at, in;
  ManagerOptions manager;
  bool json = false;

  void declare(Options& options) {
    options.heading("The command");
    options.positional("JOB", "the job file that penstock manage runs", job);
    options.positional_if_any(
        "COMMAND",
        "join MACHINE, leave MACHINE, preempt MACHINE, checkpoint, morph (change to the best plan "
        "now) or stop (write a checkpoint and end)",
        command);
    options.positional_if_any("MACHINE", "name of the machine in the job", machine);
    options.option("--gpus", "N", "number of GPUs of the machine that joins", gpus);
    options.option("--device", "TYPE",
                   "device type of that machine, where the job's book counts types", device);
    options.option("--at", "TIME", "with preempt: when the machine will be gone, in UTC", at);
    options.option("--in", "TIME", "the same, counted from now: 30s, 2min", in);
    options.heading("The manager");
    manager.declare(options);
    options.heading("What to print");
    options.flag("--json", "print the answer as one JSON object", json);
    options.remark({"host", "node", "machine", "hostname", "name"},
                   "the machine stands behind the command, without an option: penstock tell "
                   "job.json leave {MACHINE}");
    options.remark({"grace", "grace-period", "timeout", "after", "delay", "deadline"},
                   "with preempt, the time until the machine is gone is --in {TIME}");
  }
};

UtcTime gone_by(const TellOptions& given) {
  if (given.at.has_value() == given.in.has_value()) {
    bad_option("--at", "preempt needs the time when the machine will be gone, given once",
               "--in 30s, or --at 2026-11-24T01:25:43Z");
  }
  if (given.in) return utc_now() + parse_budget("--in", *given.in);
  const auto at = parse_utc_time(*given.at);
  if (!at)
    bad_option("--at", fmt::format("'{}' is not a time in UTC", *given.at), "2026-11-24T01:25:43Z");
  return *at;
}

const std::vector<std::string> kCommands{"join", "leave", "preempt", "checkpoint", "morph", "stop"};
// What others call them.
struct OtherCommand {
  std::string_view typed, meant;
};
constexpr std::array kOtherCommands{OtherCommand{"add", "join"},
                                    OtherCommand{"remove", "leave"},
                                    OtherCommand{"drain", "leave"},
                                    OtherCommand{"kill", "stop"},
                                    OtherCommand{"scale-up", "join"},
                                    OtherCommand{"scale-down", "leave"},
                                    OtherCommand{"up", "join"},
                                    OtherCommand{"down", "leave"},
                                    OtherCommand{"evict", "preempt"},
                                    OtherCommand{"abort", "stop"},
                                    OtherCommand{"quit", "stop"},
                                    OtherCommand{"backup", "checkpoint"},
                                    OtherCommand{"pause", "stop"},
                                    OtherCommand{"terminate", "stop"},
                                    OtherCommand{"cancel", "stop"},
                                    OtherCommand{"restart", "checkpoint' or 'stop"},
                                    OtherCommand{"shutdown", "stop"},
                                    OtherCommand{"replan", "morph"},
                                    OtherCommand{"scale", "join' or 'leave"},
                                    OtherCommand{"save", "checkpoint"},
                                    OtherCommand{"snapshot", "checkpoint"}};

const std::string& required_command(const TellOptions& given) {
  if (!given.command && command_called(given.job)) {
    bad_option("JOB", "missing",
               fmt::format("the job comes first: penstock tell job.json {}", given.job));
  }
  const auto* called =
      std::find_if(kOtherCommands.begin(), kOtherCommands.end(),
                   [&given](const OtherCommand& other) { return other.typed == given.job; });
  if (!given.command && called != kOtherCommands.end()) {
    bad_option("JOB", "missing",
               fmt::format("the job comes first, and '{}' is '{}' here: penstock tell job.json {}",
                           called->typed, called->meant,
                           called->meant.substr(0, called->meant.find('\''))));
  }
  if (!given.command) {
    bad_option("COMMAND", "missing",
               "join, leave, preempt, checkpoint, morph or stop, for example penstock tell " +
                   given.job + " checkpoint");
  }
  if (command_called(given.job)) {
    const bool names_job = given.command->ends_with(".json");
    bad_option("JOB", "the job file comes first",
               names_job ? fmt::format("penstock tell {} {}", *given.command, given.job)
                         : fmt::format("penstock tell job.json {} {}", given.job, *given.command));
  }
  if (called != kOtherCommands.end() && !is_there(given.job)) {
    bad_option(
        "JOB", "the job file comes first",
        fmt::format("'{}' is '{}' here: penstock tell job.json {} {}", called->typed, called->meant,
                    called->meant.substr(0, called->meant.find('\'')), *given.command));
  }
  for (const OtherCommand& other : kOtherCommands) {
    if (other.typed != *given.command) continue;
    if (other.typed == "kill" && given.machine) {
      bad_option("COMMAND", "unknown 'kill'", "did you mean 'preempt'?");
    }
    bad_option("COMMAND", fmt::format("unknown '{}'", *given.command),
               other.meant == "stop"
                   ? fmt::format("'stop' writes a checkpoint and ends the job, and penstock manage "
                                 "{0} goes on from it: penstock tell {0} stop",
                                 shell_word(given.job))
                   : fmt::format("did you mean '{}'?", other.meant));
  }
  return *given.command;
}

CommandGiven command_of(const TellOptions& given) {
  CommandGiven command;
  const std::string& word = required_command(given);
  const auto kind = command_called(word);
  if (!kind) unknown_word("COMMAND", word, kCommands);
  command.kind = *kind;
  const bool names_machine =
      kind == CommandKind::kJoin || kind == CommandKind::kLeave || kind == CommandKind::kPreempt;
  if (given.machine.has_value() != names_machine) {
    bad_option(
        "MACHINE",
        names_machine ? fmt::format("{} needs the name of a machine", word)
                      : fmt::format("{} is for the whole job and takes no machine", word),
        names_machine ? fmt::format("penstock tell job.json {} node3", word) : "leave it out");
  }
  command.machine = given.machine.value_or("");
  if (names_machine && !is_machine_name(command.machine)) {
    bad_option("MACHINE", fmt::format("'{}' is not the name of a machine", command.machine),
               "letters, digits and . _ - :");
  }
  if (given.gpus && kind != CommandKind::kJoin)
    bad_option("--gpus", "only join takes it", "leave it out");
  if (given.device && kind != CommandKind::kJoin) {
    bad_option("--device", "only join takes it", "leave it out");
  }
  if (given.device && !is_machine_name(*given.device)) {
    bad_option("--device", fmt::format("'{}' is not a device type", *given.device),
               "one of the job's book, for example a100-40gb");
  }
  command.device = given.device.value_or("");
  if ((given.at || given.in) && kind != CommandKind::kPreempt) {
    bad_option(given.at ? "--at" : "--in", "only preempt takes it", "leave it out");
  }
  if (kind == CommandKind::kJoin) {
    command.gpus = parse_int("--gpus", required(given.gpus, "--gpus", "--gpus 8"), 1, 1 << 20);
  }
  if (kind == CommandKind::kPreempt) command.at = gone_by(given);
  command.id = random_hex(16);
  command.who = "console";
  return command;
}

}  // namespace

Answer run_tell(const Arguments& arguments, Screen screen) {
  TellOptions given;
  Options options("tell JOB COMMAND [MACHINE] [OPTIONS]",
                  "Sends a command to the manager of a job and prints the answer. Exit code 1: the "
                  "manager refuses.",
                  kExamples);
  given.declare(options);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  const CommandGiven command = command_of(given);
  ManagerLine line = line_to_manager(load_job(given.job), given.manager);
  const SentCommand sent = line.send(command);
  if (!sent.was_answered) {
    throw Error(ErrorKind::kMissingResource,
                fmt::format("the manager of {} does not answer: {}\nhelp: see with penstock status "
                            "{} whether one runs; start it with penstock manage {}",
                            given.job, sent.words, given.job, given.job));
  }
  const int exit = sent.done ? kYes : kNo;
  if (!given.json) return {sent.words + '\n', exit};
  Json json = answer_json("tell");
  json.set("command", command_words(command)).set("id", command.id);
  json.set("accepted", sent.done).set("answer", sent.words);
  return json_answer(json, exit);
}

}  // namespace penstock
