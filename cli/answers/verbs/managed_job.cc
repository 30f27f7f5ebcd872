#include "cli/answers/verbs/managed_job.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/job_file.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/book_range.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/file_kinds.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr const char *kJob = "job.json", *kMachine = "node4";

bool names_hosts(const GivenOption& option) {
  const std::string plain = plain_name(option);
  const bool are_names =
      !option.value.empty() && option.value.find_first_not_of("0123456789.:-") != std::string::npos;
  if (is_among({"nodes", "machines", "node", "workers"}, plain)) return are_names;
  return is_among({"hosts", "host-list", "hostlist", "hostfile", "host-file", "nodelist",
                   "node-list", "node-file", "nodefile", "machine-list", "machinefile"},
                  plain);
}

// The first of "node1,node2"; another name of the file that lists them.
std::string machine_in(const std::string& value) {
  const Arguments names = parted_at_commas(value);
  const bool is_list = !names.empty() && (names.size() > 1 || !is_there(value)) &&
                       value.find("file") == std::string::npos &&
                       value.find('.') == std::string::npos;
  return is_list ? names.front().substr(0, names.front().find(':')) : kMachine;
}

bool is_scaling(const std::string& word) {
  return is_among({"scale", "resize", "gpus", "set-gpus"}, word);
}

// "localhost:7000", "10.0.0.1:4270".
bool is_address(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  return colon != std::string::npos && colon > 0 && is_digits(word.substr(colon + 1)) &&
         word.find('/') == std::string::npos && !is_there(word);
}

std::string joining(const std::string& job, const std::string& machine, const Arguments& options) {
  Arguments words{job, "join", machine, "--gpus", "8"};
  words.insert(words.end(), options.begin(), options.end());
  return command_of("tell", words);
}

// "tell job.json scale 16".
std::string help_for_scale(const Arguments& bare, const std::string& job,
                           const Arguments& options) {
  if (bare.size() < 2 || !is_scaling(bare[1])) return "";
  Arguments leaving{job, "leave", kMachine};
  leaving.insert(leaving.end(), options.begin(), options.end());
  const bool has_count = bare.size() > 2 && is_digits(bare[2]);
  return fmt::format(
      "the manager plans for the GPUs that are there{}: more of them come with {}, fewer are left "
      "after {}",
      has_count ? fmt::format(", and no command sets {}", bare[2]) : "",
      joining(job, kMachine, options), command_of("tell", leaving));
}

// "tell node4 join --gpus 8".
void refuse_machine_first(const Arguments& words, const Arguments& bare) {
  if (bare.size() != 2 || !is_among({"join", "leave", "preempt"}, bare[1])) return;
  const std::string& machine = bare.front();
  if (machine.ends_with(".json") || machine.find('/') != std::string::npos || is_there(machine)) {
    return;
  }
  Arguments command{kJob, bare[1], machine};
  for (const GivenOption& option : given_words({}, words).options) {
    command.insert(command.end(), words.begin() + static_cast<std::ptrdiff_t>(option.begin),
                   words.begin() + static_cast<std::ptrdiff_t>(option.end));
  }
  throw_bad_input(fmt::format("JOB: missing\nhelp: the job file comes first, then the command: {}",
                              command_of("tell", command)));
}

void refuse_address_as_job(const std::string& verb, const Arguments& words, const Arguments& bare) {
  if (bare.empty() || !is_address(bare.front())) return;
  const std::string& address = bare.front();
  const Arguments manager{"--manager", address};
  std::string help = help_for_scale(bare, kJob, manager);
  if (help.empty() && verb == "manage") {
    help = fmt::format("the job file says where the manager listens: \"address\": \"{}\"; then {}",
                       address, command_of(verb, {kJob}));
  } else if (help.empty()) {
    Arguments command = words;
    *std::find(command.begin(), command.end(), address) = kJob;
    // Started again, manage goes on.
    const auto begins_again = std::find_if(command.begin(), command.end(), [](const auto& word) {
      return is_among({"restart", "pause", "suspend"}, word);
    });
    const bool is_restart = begins_again != command.end();
    if (is_restart) *begins_again = "stop";
    command.insert(command.end(), manager.begin(), manager.end());
    help = whole_command(verb, command);
    if (is_restart) help += "; then " + command_of("manage", {kJob}) + " goes on with it";
  }
  throw_bad_input(fmt::format("JOB: '{}' is an address, and the job file comes first\nhelp: {}",
                              address, help));
}

// "status 48213", "status --job my-run": Slurm's number of a job, or a name of one.
void refuse_number_of_job(const std::string& verb, const GivenWords& given) {
  std::string number = given.bare.empty() ? "" : given.bare.front();
  for (const GivenOption& option : given.options) {
    if (is_among({"j", "job", "job-id", "jobid"}, plain_name(option))) number = option.value;
  }
  const bool is_name = number.find_first_of("./") == std::string::npos;
  if (number.empty() || !is_name || is_there(number)) return;
  throw_bad_input(fmt::format(
      "JOB: '{}' is no job file\nhelp: {} is for a job that penstock manage runs, and its job file "
      "says which: {}{}",
      number, verb, command_of(verb, {kJob}),
      is_digits(number) ? fmt::format("; squeue -j {} shows one of Slurm's", number) : ""));
}

// Of "--nodes 8" up to as many; empty where nothing is said.
std::string numbers_of_book(const Arguments& words) {
  const BookRange asked = book_range(words);
  if (!asked.range.empty()) return fmt::format("{} {}", asked.option, asked.range);
  for (const GivenOption& given : given_words({}, words).options) {
    const std::string plain = plain_name(given);
    const bool are_nodes = plain.find("node") != std::string::npos;
    const bool are_gpus =
        plain.find("gpu") != std::string::npos || plain.find("world-size") != std::string::npos;
    if ((!are_nodes && !are_gpus) || !is_digits(given.value)) continue;
    return fmt::format("{} {}{}", are_nodes ? "--nodes" : "--gpus", given.value == "1" ? "" : "1..",
                       given.value);
  }
  return "";
}

bool starts_trainer(const Arguments& arguments) {
  return role_of(arguments.front()) == FileRole::kScript &&
         kind_of_text(arguments.front(), "").words != "YAML";
}

// "its book has a plan for ..": the commands that make it, of a model that was measured.
std::string steps_to_book(FileRole role, const Arguments& arguments) {
  const std::string& file = arguments.front();
  const std::string numbers = numbers_of_book(arguments);
  if (role == FileRole::kBook && numbers.empty()) return file + " is what it names as its book";
  const PlanMade made = role == FileRole::kPlan ? plan_made(file) : PlanMade{};
  const bool is_measured = role == FileRole::kProfile || role_of(made.model) == FileRole::kProfile;
  const std::string model = role == FileRole::kModel ? shell_word(file) : "config.json";
  const std::string measured =
      is_measured ? ""
                  : fmt::format(
                        "penstock profile {} --device cuda --links -o measured.json "
                        "--cluster-out cluster.json (of this machine: raise its nodes), "
                        "then ",
                        model);
  return fmt::format(
      "its book has a plan for every number of GPUs{}: {}penstock plan {} --cluster {} {} "
      "--global-batch {} --for penstock -o book.json",
      is_measured ? "" : ", of a model that was measured", measured,
      role == FileRole::kProfile ? shell_word(file)
      : is_measured              ? shell_word(made.model)
                                 : "measured.json",
      made.cluster.empty() ? "cluster.json" : shell_word(made.cluster),
      numbers.empty() ? "--gpus 8..64" : numbers, made.batch.empty() ? "512" : made.batch);
}

}  // namespace

void refuse_no_job(const std::string& verb, const Arguments& arguments) {
  if (!is_among({"manage", "status", "tell"}, verb)) return;
  const FileRole role = role_of(arguments.front());
  const std::string_view what = role == FileRole::kPlan      ? "a plan"
                                : role == FileRole::kModel   ? "a model's config.json"
                                : role == FileRole::kProfile ? "a profile"
                                : role == FileRole::kCluster ? "a cluster"
                                : role == FileRole::kBook    ? "a book of plans"
                                : starts_trainer(arguments)  ? "a script"
                                                             : "";
  if (what.empty()) return;
  const std::string error =
      fmt::format("{}: this is {}, and a job file belongs here\nhelp: ", arguments.front(), what);
  if (verb == "status" || verb == "tell") {
    throw_bad_input(error + fmt::format("{} asks about a job that penstock manage {} runs; the job "
                                        "file is what that command was given",
                                        verb, kJob));
  }
  const std::string hosts = help_for_hosts(arguments, kJob);
  const bool is_script = what == "a script";
  const std::string own = fmt::format(
      "{} writes a job file to edit, for a job of penstock's own train; {}; then penstock manage "
      "{}",
      kWriteJobFile, steps_to_book(role, arguments), kJob);
  const std::string other = fmt::format(
      "{}; penstock morph --book book.json --trace trace.csv says when to change its plan",
      is_script ? "no script is started here: it stays with its launcher, Slurm or torchrun"
                : "another trainer's job stays with its launcher");
  throw_bad_input(fmt::format("{}{}{}{}\nhelp: {}", error, hosts, hosts.empty() ? "" : "\nhelp: ",
                              is_script ? other : own, is_script ? own : other));
}

std::string help_for_hosts(const Arguments& words, const std::string& job) {
  const std::vector<GivenOption> options = given_words({}, words).options;
  const auto hosts = std::find_if(options.begin(), options.end(), names_hosts);
  if (hosts == options.end()) return "";
  return fmt::format(
      "{}{}{}: the machines of a job are listed in the machine_file that its job file names "
      "(lines HOST GPUS), or join while it runs: {}",
      hosts->name, hosts->value.empty() ? "" : " ", hosts->value,
      joining(job, machine_in(hosts->value), {}));
}

void refuse_of_managed_job(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  if (!is_among({"manage", "status", "tell", "listen"}, verb)) return;
  const GivenWords given = given_words(table, words);
  refuse_address_as_job(verb, words, given.bare);
  if (verb == "status") refuse_number_of_job(verb, given);
  const auto hosts = std::find_if(given.options.begin(), given.options.end(), names_hosts);
  const bool has_job = !given.bare.empty();
  if (verb == "manage" && hosts != given.options.end() &&
      (!has_job || role_of(given.bare.front()) == FileRole::kJob)) {
    throw_bad_input(fmt::format("unknown option '{}'\nhelp: {}", hosts->name,
                                help_for_hosts(words, has_job ? given.bare.front() : kJob)));
  }
  if (!has_job || verb != "tell") return;
  refuse_machine_first(words, given.bare);
  Arguments bare = given.bare;  // with the job file, which "tell scale 16" lacks
  if (is_scaling(bare.front()) && !is_there(bare.front())) bare.insert(bare.begin(), kJob);
  const std::string help = help_for_scale(bare, bare.front(), {});
  if (help.empty()) return;
  throw_bad_input(fmt::format("COMMAND: unknown '{}'\nhelp: {}", bare[1], help));
}

}  // namespace penstock
