#include "cli/answers/files/plan_as_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/complete_command.h"
#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/asked_of_search.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/files.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"
#include "core/values/error.h"
#include "core/values/units.h"

namespace penstock {
namespace {

// The plan's layout without the keys that were typed; empty where a degree was.
std::string layout_besides(const std::string& layout, const Arguments& read) {
  std::string typed;
  for (std::size_t i = 0; i + 1 < read.size(); ++i) {
    if (read[i] == "--layout") typed += ' ' + read[i + 1];
  }
  std::istringstream pairs(layout);
  std::string out;
  for (std::string pair; pairs >> pair;) {
    const std::string key = pair.substr(0, pair.find('=') + 1);
    const bool is_typed = typed.find(' ' + key) != std::string::npos;
    if (is_typed && key != "gbs=" && key != "seq=" && key != "mbs=") return "";
    if (!is_typed) out += (out.empty() ? "" : " ") + pair;
  }
  return out;
}

// As many GPUs as were typed, where that is no number that the plan is for; else empty.
std::string other_gpus(const PlanMade& made, const Arguments& read) {
  const auto typed = value_of(read, {"--gpus"});
  return !typed || *typed == made.gpus ? "" : *typed;
}

// The layout with replicas for that many GPUs, where they and their share of the batch come out
// even.
std::string layout_on(const std::string& gpus, const PlanMade& made) {
  constexpr std::string_view kReplicas = " DP=";
  constexpr std::size_t kMostDigits = 6;
  const auto is_number = [](const std::string& text) {
    return !text.empty() && text.size() <= kMostDigits &&
           text.find_first_not_of("0123456789") == std::string::npos;
  };
  const std::size_t at = made.layout.find(kReplicas);
  if (!is_number(gpus) || !is_number(made.gpus) || at == std::string::npos) return made.layout;
  const std::size_t begin = at + kReplicas.size(),
                    end = std::min(made.layout.find(' ', begin), made.layout.size());
  const std::string replicas = made.layout.substr(begin, end - begin);
  if (!is_number(replicas) || !is_number(made.batch)) return made.layout;
  const std::int64_t all = std::int64_t{std::stoi(replicas)} * std::stoi(gpus);
  const std::int64_t wanted = all / std::stoi(made.gpus);
  const bool is_even = wanted > 0 && all % std::stoi(made.gpus) == 0;
  if (!is_even || std::stoi(made.batch) % wanted != 0) return made.layout;
  return fmt::format("{}{}{}", made.layout.substr(0, begin), wanted, made.layout.substr(end));
}

// "--vary gpus=8,16".
bool varies_gpus(const Arguments& read) {
  return std::any_of(read.begin(), read.end(),
                     [](const std::string& word) { return word.starts_with("gpus="); });
}

// "--sequence-length 4096", "--vary sequence-length=4096,8192".
bool says_length(const Arguments& read) {
  return value_of(read, {"--sequence-length"}).has_value() ||
         std::any_of(read.begin(), read.end(), [](const std::string& word) {
           return key_called(word.substr(0, word.find('='))) == "sequence-length";
         });
}

}  // namespace

std::string command_for_its_model(const std::string& verb, Arguments arguments) {
  const auto read = read_by_verb(verb, arguments);
  const PlanMade made = plan_made(arguments.front());
  if (!read || made.model.empty() || made.gpus.empty() || made.batch.empty()) return "";
  arguments.front() = made.model;
  const bool has_cluster = value_of(*read, {"--cluster"}).has_value();
  const bool has_device = value_of(*read, {"--device"}).has_value();
  const bool is_profile = format_of_file(made.model).starts_with("penstock.profile/");
  Arguments machine;
  if (!made.cluster.empty() && !has_cluster && !has_device) {
    machine = {"--cluster", made.cluster};
  } else if (!has_cluster && (has_device || !made.device.empty())) {
    if (!has_device) machine = {"--device", made.device};
    const bool has_gpus = value_of(*read, {"--gpus", "--nodes"}).has_value() || varies_gpus(*read);
    if (!has_gpus && verb != "predict") machine.insert(machine.end(), {"--gpus", made.gpus});
  }
  if (is_profile && !has_cluster && !has_device && machine.empty()) return "";
  // Of a config.json the longest that the model takes would be planned.
  const bool is_search = verb == "plan" || verb == "compare";
  if (is_search && !is_profile && !says_length(*read) && !made.sequence_length.empty()) {
    machine.insert(machine.end(), {"--sequence-length", made.sequence_length});
  }
  arguments.insert(arguments.begin() + 1, machine.begin(), machine.end());
  const std::string layout =
      verb == "predict" ? layout_besides(layout_on(other_gpus(made, *read), made), *read) : "";
  if (!layout.empty()) {
    arguments.insert(arguments.begin() + 1 + std::ssize(machine), {"--layout", layout});
    return command_of(verb, arguments);
  }
  return complete_command(verb, arguments, *read, made.batch);
}

namespace {

// "predict plan.json --gpus 32" of a plan for 8; empty where no other number is asked about.
std::string help_for_other_gpus(const std::string& verb, const Arguments& arguments) {
  const auto read = read_by_verb(verb, arguments);
  const PlanMade made = plan_made(arguments.front());
  if (verb != "predict" || !read || value_of(*read, {"--layout"}).has_value()) return "";
  const std::string gpus = other_gpus(made, *read);
  if (gpus.empty()) return "";
  const std::string plan =
      command_for_its_model("plan", with_taken("plan", {arguments.front()}, arguments));
  if (plan.empty()) return "";
  const std::string same = layout_on(gpus, made);
  const std::string command =
      same == made.layout ? "" : command_for_its_model("predict", arguments);
  return fmt::format("for {} GPUs plan anew: {}{}", gpus, plan,
                     command.empty() ? "" : "; the same layout with other replicas: " + command);
}

// "dynamic plan.json --seq-lengths lengths.txt": the file by its own option, and the plan's batch
// in tokens.
Arguments with_lengths(const Arguments& arguments) {
  for (const GivenOption& option : given_words({}, arguments).options) {
    if (!is_lengths_file(option.value)) continue;
    Arguments words = without(arguments, {option});
    words.insert(words.end(), {"--lengths", option.value});
    const std::string tokens = tokens_of_batch(option.value, plan_made(arguments.front()).batch);
    if (!tokens.empty() && !value_of(words, {"--tokens-per-batch"})) {
      words.insert(words.end(), {"--tokens-per-batch", tokens});
    }
    return words;
  }
  return arguments;
}

// "--dataset train.jsonl".
std::string remark_on_data(const Arguments& arguments) {
  for (const GivenOption& option : given_words({}, arguments).options) {
    if (!is_among({"dataset", "data", "documents", "corpus", "samples"}, plain_name(option))) {
      continue;
    }
    return fmt::format("; {} {}: no samples are read, only their lengths", option.name,
                       option.value);
  }
  return "";
}

// "compare plan.json other/config.json": a plan of the other model is made, for as many GPUs, and
// one page shows both.
void refuse_plan_beside_model(const std::string& verb, const Arguments& arguments) {
  const std::string& path = arguments.front();
  const PlanMade made = plan_made(path);
  const Arguments models = typed_files(arguments).models;
  if (verb != "compare" || models.empty() || !is_there(models.front()) ||
      models.front() == made.model) {
    return;
  }
  Arguments words{models.front()};
  if (!made.cluster.empty()) words.insert(words.end(), {"--cluster", made.cluster});
  if (made.cluster.empty() && !made.device.empty()) {
    words.insert(words.end(), {"--device", made.device, "--gpus", made.gpus});
  }
  if (!made.batch.empty()) words.insert(words.end(), {"--global-batch", made.batch});
  throw_bad_input(fmt::format(
      "{0}: this is a plan, and a model belongs here\nhelp: plans of two models are made one by "
      "one, and one page shows both: {1} -o other.json; then penstock report {0} other.json -o "
      "report.html",
      path, whole_command("plan", words)));
}

}  // namespace

std::string compared_with_plan(const std::string& plan, const std::string& time) {
  const Duration predicted = load_plan(plan).value.prediction.step_time;
  const auto measured = parse_duration(time);
  if (!measured || predicted <= Duration{}) return plan + " predicts a step";
  return fmt::format(
      "{} predicts {}, and {} is {:.3g} times that", plan, to_text(predicted), time,
      static_cast<double>(measured->count()) / static_cast<double>(predicted.count()));
}

void refuse_time_as_run(const std::string& verb, const Arguments& arguments) {
  if (verb != "validate" || arguments.size() < 2 || arguments[1].starts_with('-')) return;
  const std::string& word = arguments[1];
  const std::size_t equals = word.find('=');
  std::string time = word.substr(equals + 1);
  const bool is_named = equals != std::string::npos && word.find("time") < equals;
  const bool is_bare = is_named && parse_duration(time + 's').has_value();
  if (is_bare && !parse_duration(time)) time += 's';
  if (!parse_duration(time) || is_there(word)) return;
  const std::string command = command_for_its_model("predict", {arguments[0], "--measured", time});
  throw_bad_input(fmt::format(
      "'{}' is a time, and the log of a run belongs here\nhelp: {}; {}; {} compares a whole run, "
      "step by step",
      word, compared_with_plan(arguments[0], time),
      command.empty() ? "penstock predict ... --measured " + time + " fits a prediction to it"
                      : command + " fits the prediction to it",
      command_of("validate", {arguments[0], "train.log"})));
}

void refuse_plan_as_model(const std::string& verb, const Arguments& typed) {
  const Arguments arguments = verb == "dynamic" ? with_lengths(typed) : typed;
  const std::string& path = arguments.front();
  if (const Arguments plans = plans_or_json(arguments); verb == "compare" && plans.size() > 1) {
    throw_bad_input(fmt::format(
        "{0}: this is a plan, and a model belongs here\nhelp: {1} shows these plans on one page; "
        "penstock plan config.json ... --baseline {0} compares it with the best plan of that model",
        path, whole_command("report", plans)));
  }
  refuse_plan_beside_model(verb, arguments);
  std::string help = help_for_other_gpus(verb, arguments);
  if (!help.empty()) {
    throw_bad_input(
        fmt::format("{}: this is a plan, and a model belongs here\nhelp: {}", path, help));
  }
  help = verb == "compare"
             ? fmt::format(
                   "penstock plan config.json ... --baseline {0} compares it with the best "
                   "plan of that model; penstock explain {0} says what would make it faster",
                   path)
             : fmt::format("{} says what limits it, {} replays it",
                           command_of("explain", with_taken("explain", {path}, arguments)),
                           command_of("simulate", with_taken("simulate", {path}, arguments)));
  std::string command = command_for_its_model(verb, arguments);
  // An option that the verb has not is no reason to say nothing of the others.
  if (command.empty()) {
    command = command_for_its_model(verb, with_taken(verb, {path}, arguments));
  }
  if (verb == "dynamic" && !command.empty()) {
    help = "what it was made from: " + command +
           remark_on_lengths(value_of(arguments, {"--lengths"}).value_or(kLengthsFile)) +
           remark_on_data(arguments);
  } else if (!command.empty()) {
    help += "; what it was made from: " + command;
  }
  throw_bad_input(
      fmt::format("{}: this is a plan, and a model belongs here\nhelp: {}", path, help));
}

}  // namespace penstock
