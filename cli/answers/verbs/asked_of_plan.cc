#include "cli/answers/verbs/asked_of_plan.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/plan_compared.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "cli/words/schedule_spelled.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

// Whether all of "TP=4,PP=2" is what a plan chose: not its GPUs or its batch.
bool are_choices(const std::string& text) {
  const Arguments pairs = parted_at_commas(text);
  return !pairs.empty() && std::all_of(pairs.begin(), pairs.end(), [](const std::string& pair) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals + 1 == pair.size()) return false;
    const std::string word = pair.substr(0, equals);
    return is_among({"P", "V", "D", "T", "C", "EP", "ETP", "b"}, key_called(plain_word(word))) ||
           is_among({"schedule", "recompute", "sharding", "zero1", "offload", "placement"}, word);
  });
}

// "schedule=gpipe" of "--schedule gpipe", "TP=4" of "--what-if TP=4"; empty of other options.
std::string choice_in(const GivenOption& option) {
  const std::string plain = plain_name(option);
  if (is_among({"schedule", "pipeline-schedule", "schedule-name"}, plain)) {
    const std::string_view schedule = schedule_spelled(option.value);
    return schedule.empty() ? "" : fmt::format("schedule={}", schedule);
  }
  const bool is_asked = is_among(
      {"what-if", "whatif", "if", "try", "with", "instead", "alternative", "change", "set"}, plain);
  return is_asked && are_choices(option.value) ? option.value : "";
}

bool are_schedules(const GivenOption& option) {
  const Arguments names = parted_at_commas(option.value);
  return is_among({"schedule", "schedules"}, plain_name(option)) && names.size() > 1 &&
         std::all_of(names.begin(), names.end(),
                     [](const auto& name) { return !schedule_spelled(name).empty(); });
}

// "--what-if gpus=32", "--schedule 1f1b,gpipe": more than a plan chose is asked of its model.
void refuse_question(const Arguments& words, const GivenOption& option) {
  const bool is_what_if = is_among({"what-if", "whatif"}, plain_name(option));
  if (!is_what_if && !are_schedules(option)) return;
  const std::string command =
      plan_compared(is_what_if ? with_instead(words, option, {"--set", option.value}) : words);
  if (command.empty()) return;
  throw_bad_input(fmt::format("unknown option '{}'\nhelp: the plan's question is asked again: {}",
                              option.name, command));
}

// Of "TP=4 PP=2 DP=8"; 1 where it is not said.
std::int64_t number_in(const std::string& layout, const std::string& key) {
  constexpr std::size_t kMostDigits = 6;
  const std::string value = value_in_layout(layout, key);
  return is_digits(value) && value.size() <= kMostDigits ? std::stoll(value) : 1;
}

// "the same layout with it is penstock predict ..; ": of a schedule, which a plan without a
// pipeline has not; empty where the plan does not say its layout.
std::string same_layout_with(const std::string& plan, const std::string& choice) {
  constexpr std::string_view kSchedule = "schedule=";
  const PlanMade made = plan_made(plan);
  if (!choice.starts_with(kSchedule) || made.layout.empty()) return "";
  if (number_in(made.layout, "PP") <= 1) {
    return "this one has no pipeline (PP 1), so that there is nothing to order; ";
  }
  // The batch is an option of its own then.
  const std::string command = command_for_its_model(
      "predict", {plan, "--layout", layout_with(made.layout, {"VP=", "gbs=", choice})});
  return command.empty() ? "" : "the same layout with it: " + command + "; ";
}

// "simulate plan.json --num-microbatches 32": so many are a batch of their own.
void refuse_micro_batches(const std::string& plan, const GivenOption& option) {
  constexpr std::size_t kMostDigits = 6;
  if (key_called(plain_name(option)) != "M" || !is_digits(option.value) ||
      option.value.size() > kMostDigits) {
    return;
  }
  const PlanMade made = plan_made(plan);
  if (made.layout.empty()) return;
  const std::int64_t samples =
      std::stoll(option.value) * number_in(made.layout, "DP") * number_in(made.layout, "mbs");
  const std::string command =
      command_for_its_model("predict", {plan, "--layout", layout_with(made.layout, {"gbs="}),
                                        "--global-batch", std::to_string(samples)});
  if (command.empty()) return;
  throw_bad_input(fmt::format(
      "unknown option '{}'\nhelp: {} micro-batches of this layout are a batch of {}: {}",
      option.name, option.value, samples, command));
}

// "simulate plan.json --global-batch 128": the same layout with it, and the best plan for it.
void refuse_batch(const std::string& plan, const GivenOption& option) {
  if (key_called(plain_name(option)) != "global-batch" || !is_digits(option.value)) return;
  const PlanMade made = plan_made(plan);
  if (made.layout.empty()) return;
  const std::string predicted = command_for_its_model(
      "predict",
      {plan, "--layout", layout_with(made.layout, {"gbs="}), "--global-batch", option.value});
  const std::string planned = command_for_its_model("plan", {plan, "--global-batch", option.value});
  if (predicted.empty() || planned.empty()) return;
  throw_bad_input(fmt::format(
      "unknown option '{}'\nhelp: the plan says its batch; its layout with another: {}; the best "
      "plan for it: {}",
      option.name, predicted, planned));
}

// "simulate plan.json --model mixtral.json": a plan is of one model.
void refuse_other_model(const std::string& verb, const std::string& plan,
                        const GivenOption& option) {
  const bool is_model =
      is_among({"model", "config", "model-config", "profile"}, plain_name(option));
  if (!is_model || !is_model_file(option.value)) return;
  const PlanMade made = plan_made(plan);
  Arguments words{option.value};
  if (!made.device.empty()) words.insert(words.end(), {"--device", made.device});
  if (!made.gpus.empty()) words.insert(words.end(), {"--gpus", made.gpus});
  if (!made.batch.empty()) words.insert(words.end(), {"--global-batch", made.batch});
  words.insert(words.end(), {"-o", "other.json"});
  throw_bad_input(fmt::format(
      "unknown option '{}'\nhelp: {} is a plan of one model; one of that model: {}; then {}",
      option.name, plan, whole_command("plan", words), command_of(verb, {"other.json"})));
}

void refuse_choice(const OptionTable& table, const Arguments& words, const std::string& plan,
                   const GivenOption& option) {
  const std::string choice = choice_in(option);
  if (choice.empty()) return;
  const bool explains = verb_of(table) == "explain";
  const std::string command =
      command_of("explain", explains ? with_instead(words, option, {"--why-not", choice})
                                     : Arguments{plan, "--why-not", choice});
  if (explains) {
    throw_bad_input(fmt::format("unknown option '{}'\nhelp: write {}", option.name, command));
  }
  throw_bad_input(fmt::format(
      "unknown option '{}'\nhelp: a plan has its own choices; {}{} compares it with the "
      "best plan that has this one",
      option.name, same_layout_with(plan, choice), command));
}

// "--timeline t.json", "--chrome-trace trace.json", "-o step.svg" of a verb that writes no file.
void refuse_drawing(const OptionTable& table, const Arguments& words, const std::string& plan,
                    const GivenOption& option) {
  const bool is_output = is_among({"o", "output", "out", "save", "svg", "png", "plot", "figure"},
                                  plain_name(option)),
             is_trace = is_among({"timeline", "chrome", "chrome-trace", "perfetto", "trace",
                                  "trace-file", "trace-out", "gantt"},
                                 plain_name(option));
  const auto ends = [&option](std::string_view end) { return option.value.ends_with(end); };
  const bool is_picture = ends(".svg") || ends(".png"), is_page = ends(".html");
  if (!(is_output && is_picture) && !(is_trace && (is_picture || is_page || ends(".json")))) return;
  const std::string drawing = is_page ? "report" : "trace";
  const Arguments instead{"-o", option.value};
  const std::string command =
      command_of(drawing, verb_of(table) == drawing ? with_instead(words, option, instead)
                                                    : Arguments{plan, instead[0], instead[1]});
  throw_bad_input(fmt::format("unknown option '{}'\nhelp: write {}{}", option.name, command,
                              ends(".json") ? "; it opens in ui.perfetto.dev" : ""));
}

}  // namespace

void refuse_asked_of_plan(const OptionTable& table, const Arguments& words) {
  if (words.empty() || first_argument(table.usage) != "PLAN") return;
  const Arguments plans = typed_files(words).plans;
  if (plans.size() != 1 || !is_there(plans.front())) return;
  for (const GivenOption& option : given_words(table, words).options) {
    if (option.value.empty() || row_named(table, option.name) != nullptr) continue;
    refuse_choice(table, words, plans.front(), option);
    refuse_micro_batches(plans.front(), option);
    refuse_batch(plans.front(), option);
    refuse_other_model(verb_of(table), plans.front(), option);
    refuse_question(words, option);
    refuse_drawing(table, words, plans.front(), option);
  }
}

}  // namespace penstock
