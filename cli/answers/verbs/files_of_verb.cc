#include "cli/answers/verbs/files_of_verb.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/layout_as_pins.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/job_file.h"
#include "cli/answers/files/layout_in_file.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/trainer_asked.h"
#include "cli/io/file_kinds.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "cli/words/trainer_called.h"
#include "core/values/error.h"
#include "report/words.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool has_option(std::string_view verb, const std::string& word) {
  const Verb* found = find_verb(verb);
  if (found == nullptr) return false;
  const std::vector<OptionRow> rows = options_of(*found).rows;
  return std::any_of(rows.begin(), rows.end(), [&word](const OptionRow& row) {
    return std::find(row.names.begin(), row.names.end(), word.substr(0, word.find('='))) !=
           row.names.end();
  });
}

// What belongs to the verb that makes the plan, and what to the one that was asked.
struct PartedWords {
  Arguments making, asked;
};
PartedWords parted_words(std::string_view maker, std::string_view verb, const Arguments& typed) {
  PartedWords parted;
  const Arguments words = with_layout_as_pins(maker, typed);
  for (std::size_t i = 1; i < words.size(); ++i) {
    Arguments option{words[i]};
    const bool is_option = words[i].starts_with('-');
    const bool has_next = is_option && words[i].find('=') == std::string::npos &&
                          i + 1 < words.size() && !words[i + 1].starts_with('-');
    if (has_next) option.push_back(words[++i]);
    const bool is_output = option[0].starts_with("-o") || option[0].starts_with("--output");
    const bool is_asked =
        !is_option || is_output || (!has_option(maker, option[0]) && has_option(verb, option[0]));
    if (is_asked && (!is_output || has_option(verb, "--output"))) {
      parted.asked.insert(parted.asked.end(), option.begin(), option.end());
      continue;
    }
    // How a table is printed is no part of a plan.
    if (is_output || option[0].substr(0, option[0].find('=')) == "--format") continue;
    const Arguments taken = options_taken(maker, words[0], option);
    parted.making.insert(parted.making.end(), taken.begin(), taken.end());
  }
  return parted;
}

// "--to torchtitan", "--format deepspeed" ask for a plan that it can run.
std::string help_for_exported_model(std::string_view maker, const Arguments& arguments,
                                    const Arguments& making) {
  const std::string asked = trainer_asked(arguments);
  const std::string trainer = asked.empty() ? "megatron" : asked;
  Arguments words{arguments[0]};
  for (std::size_t i = 0; i < making.size(); ++i) {
    const std::size_t equals = making[i].find('=');
    const bool has_next = equals == std::string::npos && i + 1 < making.size();
    const bool is_trainer =
        making[i].starts_with("--") &&
        (has_next ? trainer_called(making[i + 1]) == trainer
                  : equals != std::string::npos &&
                        trainer_called(making[i].substr(equals + 1)) == trainer);
    if (!is_trainer) words.push_back(making[i]);
    i += is_trainer && has_next ? 1 : 0;
  }
  const std::string name = trainer.substr(0, trainer.find('@'));
  const std::string planned = name == "megatron-bridge" ? "megatron" : trainer;
  return fmt::format("make a plan from it: {}{} -o plan.json; then {}", whole_command(maker, words),
                     find_trainer(planned) == nullptr ? "" : " --for " + planned,
                     command_of_export("plan.json", trainer, arguments));
}

// What was to be written is the plan, of verbs that write nothing.
std::string plan_written(std::string_view verb, const Arguments& words) {
  const auto output = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "-o" || word == "--output";
  });
  const bool is_plan = !has_option(verb, "--output") && words.end() - output > 1;
  return is_plan ? *(output + 1) : "plan.json";
}

std::string gpus_of(const Arguments& arguments) {
  const auto gpus = std::find(arguments.begin(), arguments.end(), "--gpus");
  const bool is_number = arguments.end() - gpus > 1 && !(gpus + 1)->empty() &&
                         (gpus + 1)->find_first_not_of("0123456789") == std::string::npos;
  return is_number ? " --gpus " + *(gpus + 1) : "";
}

// "penstock check job/run.sh --gpus 64 judges it", and what starts it where that was asked.
std::string help_for_script(std::string_view verb, const std::string& script,
                            const Arguments& arguments) {
  const FileKind kind = kind_of_text(script, "");
  if (kind.words == "YAML") {
    return std::string(kind.use) +
           "; penstock check train.sh judges the script that starts the training" +
           (has_option(verb, "--pin") ? "; give what the file says with options (--gpus, "
                                        "--global-batch, --pin TP=8,PP=4)"
                                      : "");
  }
  const std::string judged = fmt::format(
      "{}{} judges launch files of Megatron-LM, Megatron-Bridge, torchtitan, "
      "DeepSpeed and verl",
      command_of("check", {script}), gpus_of(arguments));
  return verb == "train"
             ? "no script is started here, penstock train runs a plan; " + judged
             : judged + " (with --config config.json --device h100-sxm the memory, too)";
}

// "profile profile.json": it is measured, and a plan is made with it, on the devices that it knows.
std::string help_for_measured(const std::string& profile, const Arguments& arguments) {
  Arguments others;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--device")
      ++i;
    else if (!arguments[i].starts_with("--device="))
      others.push_back(arguments[i]);
  }
  return fmt::format(
      "it is measured already; penstock profile config.json --resume {} adds sizes to it, and what "
      "plans with it is {}",
      shell_word(profile), command_of_taken("plan", {profile}, others));
}

// "{"name": "job-1", "model": "config.json", ..}", one for each model.
std::string jobs_of(const Arguments& models, const std::string& global_batch) {
  Arguments jobs;
  for (const std::string& model : models) {
    jobs.push_back(
        fmt::format(R"({{"name": "job-{}", "model": "{}", "global_batch": {}, "steps": 1000}})",
                    jobs.size() + 1, model, global_batch));
  }
  return fmt::format(R"({{"format": "penstock.jobs/1", "jobs": [{}]}})", joined(jobs, ", "));
}

// "multi config.json", "multi a.json,b.json".
std::string help_for_jobs_of_models(const std::string& model, const TypedFiles& files,
                                    const Arguments& arguments) {
  Arguments models = parted_at_commas(model);
  for (const std::string& other : files.models) {
    if (!is_among(models, other)) models.push_back(other);
  }
  const std::string batch = value_of(arguments, {"--global-batch", "--gbs"}).value_or("512");
  Arguments rest = arguments;
  std::erase_if(rest, [&](const std::string& word) { return is_among(models, word); });
  // "--jobs 3" of one model.
  constexpr std::size_t kMostJobs = 8;
  for (const GivenOption& option : given_words({}, rest).options) {
    if (!is_among({"jobs", "num-jobs", "n-jobs", "count", "copies"}, plain_name(option)) ||
        !is_digits(option.value) || option.value.size() > 4) {
      continue;
    }
    const auto count = static_cast<std::size_t>(std::stoi(option.value));
    if (models.size() == 1 && count > 1 && count <= kMostJobs) models.resize(count, models[0]);
    rest = without(rest, {option});
    break;
  }
  return fmt::format(
      "a list of jobs (penstock.jobs/1) names models, their batches and steps: write your own "
      "numbers into jobs.json, {}, then {} (docs/multi.md has the other keys, data/multi more "
      "lists); of one model {} finds the plan",
      jobs_of(models, is_digits(batch) ? batch : "512"),
      whole_command("multi", with_taken("multi", {"jobs.json"}, rest)),
      whole_command("plan", with_taken("plan", {models.front()}, rest)));
}

// "elastic config.json".
std::string help_for_managed_model(const TypedFiles& files) {
  const std::string model = files.models.empty() ? "config.json" : files.models[0];
  return fmt::format(
      "a job file names a book of plans: {} writes a book, {} a job file to edit; then penstock "
      "manage job.json",
      whole_command("plan", {model, "--gpus", "8..64", "-o", "book.json"}), kWriteJobFile);
}

std::string help_for_model_verb(std::string_view verb, const TypedFiles& files,
                                const Arguments& arguments) {
  const auto with_model = [&] {
    Arguments words = with_taken(verb, {"config.json"}, arguments);
    const auto ran = files.scripts.empty() || value_of(words, {"--layout"})
                         ? std::nullopt
                         : layout_in_script(files.scripts[0]);
    const bool is_predicted = ran && verb == "predict";
    if (is_predicted) words.insert(words.end(), {"--layout", ran->layout});
    return fmt::format("{} takes the model, described by its config.json{}: {}", verb,
                       is_predicted ? ", and the script's layout" : "", whole_command(verb, words));
  };
  if (!files.scripts.empty()) {
    return help_for_script(verb, files.scripts[0], arguments) + "; " + with_model();
  }
  if (!files.logs.empty()) {
    return fmt::format("the log of a run comes after its plan: {}; {}",
                       command_of("validate", {"plan.json", files.logs[0]}), with_model());
  }
  if (!files.plans.empty()) {
    return fmt::format("{} says what limits it, {} replays it; {}",
                       command_of("explain", {files.plans[0]}),
                       command_of("simulate", {files.plans[0]}), with_model());
  }
  return "";
}

std::string help_for_plan_verb(std::string_view verb, const TypedFiles& files,
                               const Arguments& arguments) {
  if (!files.models.empty()) {
    Arguments words = arguments;
    words.erase(std::remove(words.begin(), words.end(), files.models[0]), words.end());
    words.insert(words.begin(), files.models[0]);
    return help_for_plan_first(verb, words);
  }
  if (verb == "validate" && !files.logs.empty()) {
    const Arguments made =
        with_taken("predict", {"config.json"}, arguments);  // the layout that ran
    return fmt::format(
        "the log of a run comes after its plan: {}; of a job that runs by a layout of its own the "
        "plan is what {} -o plan.json writes",
        command_of("validate", {"plan.json", files.logs[0]}), whole_command("predict", made));
  }
  constexpr std::string_view kPlan = "a plan is what penstock plan ... -o plan.json writes";
  if (!files.logs.empty()) {
    const bool has_run = verb == "trace" || verb == "report";
    const Arguments with_run = with_taken(verb, {"plan.json", "--run", files.logs[0]}, arguments);
    return fmt::format("the log of a run comes after its plan: {}{}; {}",
                       command_of("validate", {"plan.json", files.logs[0]}),
                       has_run ? ", or " + whole_command(verb, with_run) : "", kPlan);
  }
  if (files.scripts.empty()) return "";
  return fmt::format("{}; {}", help_for_script(verb, files.scripts[0], arguments), kPlan);
}

}  // namespace

void refuse_models_of_multi(const Arguments& arguments) {
  for (const GivenOption& option : given_words({}, arguments).options) {
    const bool is_list = is_among({"models", "model", "configs", "config"}, plain_name(option));
    const Arguments named = parted_at_commas(option.value);
    const bool are_models = is_list && !named.empty() &&
                            std::all_of(named.begin(), named.end(), [](const std::string& name) {
                              return role_of(name) == FileRole::kModel;
                            });
    if (!are_models) continue;
    const Arguments rest = without(arguments, {option});
    throw_bad_input(fmt::format("unknown option '{}'\nhelp: {}", option.name,
                                help_for_jobs_of_models(option.value, typed_files(rest), rest)));
  }
}

std::string help_for_files(std::string_view verb, const Arguments& arguments) {
  const Verb* found = find_verb(verb);
  if (found == nullptr) return "";
  const TypedFiles files = typed_files(arguments);
  const std::string takes = first_argument(options_of(*found).usage);
  if (verb == "schedule" && !files.plans.empty()) {
    return command_of("simulate", {files.plans[0]}) + " replays the schedule of a plan";
  }
  if (verb == "schedule" && !files.models.empty()) {
    return fmt::format("of a model {} finds the schedule",
                       whole_command("plan", with_taken("plan", {files.models[0]}, arguments)));
  }
  const bool is_one = files.models.size() == 1;
  const bool is_measured = is_one && role_of(files.models[0]) == FileRole::kProfile;
  if ((verb == "profile" || verb == "estimate") && is_measured) {
    return help_for_measured(files.models[0], arguments);
  }
  if (verb == "multi" && !files.models.empty()) {
    return help_for_jobs_of_models(files.models[0], files, arguments);
  }
  if (verb == "manage" && files.jobs.empty() && !(files.models.empty() && files.plans.empty())) {
    return help_for_managed_model(files);
  }
  if ((takes == "MODEL" || takes == "CONFIG") && files.models.empty()) {
    return help_for_model_verb(verb, files, arguments);
  }
  return takes == "PLAN" && files.plans.empty() ? help_for_plan_verb(verb, files, arguments) : "";
}

namespace {

// "config.json 'TP=2 PP=4 DP=2 mbs=1 gbs=64'" with --layout before it.
Arguments with_named_layout(const Arguments& words) {
  Arguments named;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const bool is_value =
        i > 0 && words[i - 1].starts_with("--") && words[i - 1].find('=') == std::string::npos;
    const bool is_layout = equals != std::string::npos && !is_value &&
                           words[i].find(' ') != std::string::npos &&
                           !key_called(words[i].substr(0, equals)).empty();
    if (is_layout) named.emplace_back("--layout");
    named.push_back(words[i]);
  }
  return named;
}

// One layout and no other: by its option, or by all degrees and the batch as options of their own.
bool says_layout(const Arguments& words) {
  if (value_of(words, {"--layout"})) return true;
  std::set<std::string> keys;
  for (const GivenOption& option : given_words({}, words).options) {
    keys.insert(key_called(plain_name(option)));
  }
  const std::initializer_list<const char*> all{"T", "P", "D", "global-batch"};
  return std::all_of(all.begin(), all.end(),
                     [&keys](const char* key) { return keys.count(key) > 0; });
}

}  // namespace

namespace {

// "penstock train own.json --data FILE --steps 10"
std::string trained_by(const std::string& plan, const Arguments& asked) {
  Arguments words{plan};
  words.insert(words.end(), asked.begin(), asked.end());
  if (!value_of(words, {"--data", "--documents"})) words.insert(words.end(), {"--data", "FILE"});
  return command_of("train", words);
}

}  // namespace

std::string help_for_plan_first(std::string_view verb, const Arguments& typed) {
  const Arguments arguments = with_named_layout(typed);
  // What ran has a layout, which nobody looks for, and one that was typed is predicted as it is.
  const std::string_view maker = verb == "validate" || says_layout(arguments) ? "predict" : "plan";
  const PartedWords parted = parted_words(maker, verb, arguments);
  if (verb == "train" && role_of(arguments[0]) == FileRole::kModel) {
    Arguments model{arguments[0]};
    model.insert(model.end(), parted.making.begin(), parted.making.end());
    return fmt::format(
        "hand it to a trainer: {} --for megatron -o plan.json; then penstock export plan.json --to "
        "megatron -o job writes the files that start it, for 50 steps until you change them\nhelp: "
        "penstock train itself runs plans of "
        "what was measured: penstock profile {} --device cpu --links -o measured.json "
        "--cluster-out "
        "this-machine.json; penstock plan measured.json --cluster this-machine.json --global-batch "
        "8 "
        "--for penstock -o own.json; {}",
        whole_command(maker, model), shell_word(arguments[0]),
        trained_by("own.json", parted.asked));
  }
  if (verb == "planner") {
    return fmt::format(
        "planner plans the documents of a training that runs; the layout is planned by {} -o "
        "plan.json, and for that planner is penstock planner plan.json --documents docs.jsonl "
        "--store redis://HOST --job NAME",
        whole_command(maker, with_taken(maker, {arguments[0]}, parted.making)));
  }
  if (verb == "export") return help_for_exported_model(maker, arguments, parted.making);
  const std::string plan = plan_written(verb, arguments);
  Arguments making{arguments[0]}, asked{plan};
  making.insert(making.end(), parted.making.begin(), parted.making.end());
  asked.insert(asked.end(), parted.asked.begin(), parted.asked.end());
  const std::string whole = whole_command(maker, making);
  const bool has_examples = whole != command_of(std::string(maker), making);
  return fmt::format("make a plan from it{}: {} -o {}; then {}",
                     has_examples ? ", with your own numbers" : "", whole, shell_word(plan),
                     whole_command(verb, asked));
}

}  // namespace penstock
