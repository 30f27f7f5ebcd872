#include "cli/answers/verbs/logged_asked.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/refusal_of.h"
#include "cli/answers/files/layout_in_file.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/files.h"
#include "cli/io/load_run.h"
#include "cli/io/shell_word.h"
#include "cli/words/measured_time.h"
#include "cli/words/near_files.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// The median of the steps that count; empty where validate would refuse the log.
std::string time_of_log(const std::string& plan, const std::string& log) {
  if (!is_there(log) || refusal_of({"validate", plan, log})) return "";
  const LoadedRun run = load_run(log, load_plan(plan));
  std::vector<Duration> times;
  for (const MeasuredStep& step : run.log.steps) times.push_back(step.step_time);
  const auto warm_up = static_cast<std::ptrdiff_t>(warm_up_of(run));
  if (std::ssize(times) <= warm_up) return "";
  times.erase(times.begin(), times.begin() + warm_up);
  std::sort(times.begin(), times.end());
  std::string text = to_text(times[(times.size() - 1) / 2]);
  std::erase(text, ' ');
  std::erase(text, ',');
  return text;
}

// Where the plan's cluster is a file, which a file of runs names.
std::string command_of_runs(const std::string& plan, const std::string& log, const PlanMade& made) {
  Arguments words{plan, log, "--add-to", "runs.json"};
  const bool is_trainers = !log.ends_with(".jsonl");  // which does not say where it ran
  if (is_trainers && !made.device.empty()) {
    words.insert(words.end(), {"--run-device", made.device, "--run-transport", "nccl"});
  }
  Arguments fit{"--runs", "runs.json"};
  if (!made.trainer.empty()) fit.insert(fit.end(), {"--for", made.trainer});
  return command_of("validate", words) + " adds the run; then " + command_of("calibrate", fit);
}

// `is_typed`: else the plan is one that lies here, and the log may be of another.
std::string help_for_logged(const std::string& plan, const std::string& log, bool is_typed) {
  const PlanMade made = is_there(plan) ? plan_made(plan) : PlanMade{};
  const bool is_assumed = is_there(plan) && made.cluster.empty() && !made.model.empty();
  const std::string unsure =
      is_typed || !is_there(plan)
          ? ""
          : fmt::format("if {}, which lies here, is the plan that ran: ", plan);
  if (!is_assumed) return unsure + command_of_runs(plan, log, made);
  const std::string time = time_of_log(plan, log);
  const std::string compared = command_of("validate", {plan, log});
  const std::string command =
      time.empty() || made.layout.empty()
          ? ""
          : command_for_its_model("plan", {plan, kMeasured, made.layout + ": " + time});
  constexpr std::string_view kWhy =
      "; the plan's cluster is assumed, and runs that are fitted together name a cluster file";
  if (command.empty()) return unsure + compared + " compares them" + std::string(kWhy);
  if (is_typed) {
    return fmt::format("plans fitted to the log's step of {}: {}; {} compares the two{}", time,
                       command, compared, kWhy);
  }
  return fmt::format(
      "{}{} compares the two, and plans fitted to steps of {}, which its batch and the log make: "
      "{}\nhelp: else name the plan that ran; several runs are fitted together where their plans "
      "name a cluster file: {}",
      unsure, compared, time, command, command_of_runs("PLAN", log, {}));
}

// Where the log itself says what ran: the search that is fitted to it, and how several runs become
// a file. Empty where it does not, and where the plan was typed or may be the one that ran.
std::string help_of_log(const TypedFiles& files, const std::string& log, const Arguments& words) {
  if (!files.plans.empty()) return "";
  if (!time_of_log("plan.json", log).empty()) return "";
  const std::optional<LayoutInFile> ran = layout_in_log(log);
  const std::string model = files.models.empty() ? "config.json" : files.models.front();
  if (!ran) {
    const auto step = step_in_log(log);
    if (!step) return "";
    return fmt::format(
        "the log says {} a step, and not the layout that ran; with yours in place of {} plans that "
        "are fitted to it are those of {}",
        step->step_time, step->layout, command_fitted_to(*step, model, words));
  }
  const std::string device = value_of(words, {"--device"}).value_or("h100-sxm");
  return fmt::format(
      "the log says what ran, and plans fitted to its step of {} are those of {}\nhelp: several "
      "runs are fitted together by a cluster file: {}; for each run {} and {}; then {}",
      ran->step_time, command_fitted_to(*ran, model, words),
      command_of("devices",
                 {device, "--gpus", std::to_string(ran->gpus), "--cluster-out", "cluster.json"}),
      command_of("predict",
                 {model, "--cluster", "cluster.json", "--layout", ran->layout, "-o", "ran.json"}),
      command_of("validate", {"ran.json", log, "--add-to", "runs.json", "--run-device", device,
                              "--run-transport", "nccl"}),
      command_of("calibrate", {"--runs", "runs.json"}));
}

// "config.json --device h100-sxm": of what the plan was made, as far as it says so.
Arguments model_and_machine(const PlanMade& made) {
  Arguments words{made.model.empty() ? model_at_hand() : made.model};
  const bool is_file = !made.cluster.empty();
  words.push_back(is_file ? "--cluster" : "--device");
  words.push_back(is_file ? made.cluster : made.device.empty() ? "h100-sxm" : made.device);
  return words;
}

}  // namespace

std::string with_plan_that_ran(std::string message, const Arguments& typed) {
  constexpr std::string_view kOther = "name the plan that it ran (penstock predict config.json ";
  const std::size_t at = message.find(kOther);
  const TypedFiles files = typed_files(typed);
  if (at == std::string::npos || files.plans.empty() || files.logs.empty()) return message;
  const PlanMade plan = plan_made(files.plans.front());
  const auto ran = layout_in_log(files.logs.front()), step = step_in_log(files.logs.front());
  const bool has_batch = step && step->global_batch > 0 && !plan.layout.empty();
  if (!ran && !has_batch) return message;
  const std::string layout =
      ran ? ran->layout : layout_with(plan.layout, {fmt::format("gbs={}", step->global_batch)});
  constexpr const char* kRan = "ran.json";
  Arguments made = model_and_machine(plan), again = typed;
  made.insert(made.end(), {"--layout", layout, "-o", kRan});
  std::replace(again.begin(), again.end(), files.plans.front(), std::string(kRan));
  const std::string verb = again.front();
  again.erase(again.begin());
  const std::size_t end = std::min(message.find('\n', at), message.size());
  return message.replace(
      at, end - at,
      fmt::format(
          "{}: {} writes it; then {}; --any-plan compares the two as they are",
          ran ? "the log says which plan ran"
              : "name the plan that ran, with its layout in place of this plan's, which has "
                "the log's batch here",
          command_of("predict", made), command_of(verb, again)));
}

void refuse_log_in_calibrate(const Arguments& words) {
  const bool has_runs = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.substr(0, word.find('=')) == "--runs";
  });
  const TypedFiles files = typed_files(words);
  if (has_runs || (files.plans.empty() && files.logs.empty())) return;
  const std::string plan = files.plans.empty() ? "plan.json" : files.plans.front(),
                    log = files.logs.empty() ? "train.log" : files.logs.front();
  std::string help = help_of_log(files, log, words);
  if (help.empty()) help = help_for_logged(plan, log, !files.plans.empty());
  throw_bad_input("--runs: missing, the measured runs to fit to\nhelp: " + help);
}

}  // namespace penstock
