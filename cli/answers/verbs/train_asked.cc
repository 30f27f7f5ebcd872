#include "cli/answers/verbs/train_asked.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/refusal_of.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/files.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "core/values/error.h"
#include "core/values/plan_file.h"

namespace penstock {
namespace {

// Whom the plan was made for, where that is another trainer.
std::string other_trainer(const std::string& plan) {
  const std::string trainer = plan_made(plan).trainer;
  return is_among({"torchtitan", "deepspeed", "pytorch"}, trainer) ? trainer : "megatron";
}

bool is_of_launcher(const GivenOption& option) {
  return is_among({"nproc-per-node", "nnodes", "node-rank", "master-addr", "master-port",
                   "rdzv-endpoint", "rdzv-backend", "rdzv-id"},
                  plain_name(option));
}

// Machines meet there, so that a launcher is meant; a number of processes alone may be that of the
// plan's ranks.
bool is_address(const GivenOption& option) {
  return is_among({"master-addr", "rdzv-endpoint"}, plain_name(option)) && !option.value.empty();
}

// What else is wrong, which matters for a plan that can be trained; whole commands would fail with
// this one.
std::string of_other_plan(const std::string& message) {
  constexpr std::string_view kHelp = "help: ";
  std::string out;
  bool has_help = false;
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    const bool is_told = line.find("penstock export ") != std::string::npos;
    if (line.starts_with("help: together: ") || is_told) continue;
    const bool is_of_train = line.find("penstock simulate ") == std::string::npos;
    const bool is_help = line.starts_with(kHelp);
    has_help = has_help || is_help;
    if (is_help && is_of_train) line.insert(kHelp.size(), "for a plan that can be trained: ");
    out += (out.empty() ? "\nerror: " : "\n") + line;
  }
  return has_help ? out : "";
}

// " --nproc_per_node 4" of a plan for 8 GPUs on two nodes; empty where it was typed, or where the
// ranks do not come out even.
std::string ranks_of_node(const GivenWords& given, const Arguments& words) {
  const TypedFiles files = typed_files(words);
  int nodes = 1;
  for (const GivenOption& option : given.options) {
    const std::string name = plain_name(option);
    if (name == "nproc-per-node") return "";
    constexpr std::size_t kMostDigits = 5;
    const bool is_number = is_digits(option.value) && option.value.size() <= kMostDigits;
    if (name == "nnodes") nodes = is_number ? std::max(1, std::stoi(option.value)) : 0;
  }
  if (nodes == 0 || files.plans.empty() || !is_there(files.plans.front())) return "";
  const int ranks = load_plan(files.plans.front()).value.plan.devices();
  return ranks % nodes == 0 ? fmt::format(" --nproc_per_node {}", ranks / nodes) : "";
}

}  // namespace

std::string with_untrainable_plan(std::string message, const Arguments& typed) {
  const bool is_train = typed.size() > 1 && typed.front() == "train";
  // Ranks that only sleep build nothing.
  if (!is_train || is_among(typed, "--virtual")) return message;
  const std::string& plan = typed[1];
  if (role_of(plan) != FileRole::kPlan || !is_there(plan)) return message;
  const PlanFile file = load_plan(plan).value;
  constexpr std::string_view kWhy = "the plan does not say how to build model";
  if (file.description || message.find(kWhy) != std::string::npos) return message;
  const int ranks = file.plan.devices();
  return fmt::format(
      "{}: {} '{}', because the profile it was made from does not (an estimate from a config.json "
      "never does)\nhelp: another trainer takes it as it is: {} writes the files, of which "
      "job/run.sh starts {}\nhelp: {} replays it here, with ranks that wait instead of "
      "computing\nhelp: penstock train itself runs plans of a profile that was measured: {} "
      "measures one, and plans from it are made with --for penstock{}",
      plan, kWhy, file.model,
      command_of("export", {plan, "--to", other_trainer(plan), "-o", "job"}),
      ranks == 1 ? "its rank" : fmt::format("all {} ranks", ranks),
      command_of("train", {plan, "--virtual"}),
      command_of("profile", {"config.json", "--device", "cpu", "-o", "measured.json"}),
      of_other_plan(message));
}

void refuse_launcher_options(const std::string& verb, const Arguments& words,
                             const GivenWords& given) {
  if (verb != "train" || std::none_of(given.options.begin(), given.options.end(), is_address)) {
    return;
  }
  std::vector<GivenOption> launched;
  std::string names, launcher = "torchrun";
  for (const GivenOption& option : given.options) {
    if (!is_of_launcher(option)) continue;
    launched.push_back(option);
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", option.name);
    std::string name = plain_name(option);  // with underscores, which older ones need
    std::replace(name.begin(), name.end(), '-', '_');
    launcher += " --" + name;
    if (!option.value.empty()) launcher += ' ' + shell_word(option.value);
  }
  throw_bad_input(
      fmt::format("unknown option{} {}\nhelp: they are torchrun's, which starts the ranks of a "
                  "plan as well: {}{} --no_python {}",
                  launched.size() > 1 ? "s" : "", names, launcher, ranks_of_node(given, words),
                  whole_command("train", without(words, launched))));
}

std::string help_for_started_script(const Arguments& words) {
  const TypedFiles files = typed_files(words);
  const std::string& script = files.scripts.front();
  const bool is_judged = is_there(script) && !refusal_of({"check", script});
  if (is_judged || !script.ends_with(".py")) {
    return "nothing is started here; " + help_for_files("train", words);
  }
  const std::string model = files.models.empty() ? "config.json" : files.models.front();
  return fmt::format(
      "no script is started here, {} stays with its launcher; its layout is found by {} -o "
      "plan.json, and penstock export plan.json --to deepspeed -o job (or megatron, torchtitan) "
      "writes a job with it",
      script, whole_command("plan", with_taken("plan", {model}, words)));
}

}  // namespace penstock
