// A file of another kind in the first place: what it is, and the command that was probably meant,
// with the options that were typed.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/near_files.h"
#include "cli/io/plan_json.h"
#include "cli/io/shell_word.h"
#include "cli/options/able_verbs.h"
#include "cli/options/field_words.h"
#include "cli/options/files_of_verb.h"
#include "cli/options/options_entry.h"
#include "cli/options/plan_made.h"
#include "cli/options/schedule_called.h"
#include "cli/options/typed_files.h"
#include "cli/options/whole_command.h"
#include "core/files/format.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"
#include "core/values/units.h"

namespace penstock {
namespace {

constexpr std::string_view kClusterFormat = "penstock.cluster/",
                           kProfileFormat = "penstock.profile/";

// A config.json or a profile.
bool is_model(const std::string& path) {
  std::error_code error;
  const FileRole role = role_of(path);
  return (role == FileRole::kModel || role == FileRole::kProfile) &&
         std::filesystem::is_regular_file(path, error);
}

// The model in this folder, where there is one of the usual name.
std::string model_here() {
  for (const char* name : {"config.json", "profile.json"}) {
    if (is_model(name)) return name;
  }
  return "";
}

// The value of the first of these options that is there, in what read_by_verb() made; or null.
const std::string* value_of(const Arguments& read,
                            std::initializer_list<std::string_view> options) {
  for (std::size_t i = 1; i + 1 < read.size(); ++i) {
    if (std::find(options.begin(), options.end(), read[i]) != options.end()) return &read[i + 1];
  }
  return nullptr;
}

bool has_batch(const Arguments& read) {
  if (value_of(read, {"--global-batch", "--global-batch-tokens"}) != nullptr) return true;
  return std::any_of(read.begin(), read.end(), [](const std::string& word) {
    return key_called(word.substr(0, word.find('='))) == "global-batch";
  });
}

// `words` with a batch, and "..." where what the verb needs as well is not there.
std::string complete_command(const std::string& verb, Arguments words, const Arguments& read,
                             const std::string& batch) {
  const bool lacks_layout = verb == "predict" && value_of(read, {"--layout"}) == nullptr;
  if (!has_batch(read)) {
    words.insert(words.end(), {verb == "predict" ? "--gbs" : "--global-batch", batch});
  }
  const bool lacks_settings = verb == "compare" && value_of(read, {"--vary"}) == nullptr;
  return command_of(verb, words) + (lacks_layout || lacks_settings ? " ..." : "");
}

// "--cluster=config.json" as two words.
Arguments with_cluster_apart(const Arguments& arguments) {
  constexpr std::string_view kCluster = "--cluster=";
  Arguments words;
  for (const std::string& word : arguments) {
    if (word.starts_with(kCluster)) words.emplace_back("--cluster");
    words.push_back(word.starts_with(kCluster) ? word.substr(kCluster.size()) : word);
  }
  return words;
}

// "plan cluster.json --model config.json": with the options that the verb takes.
std::string command_with_cluster(const std::string& verb, const std::string& model,
                                 const Arguments& arguments) {
  const Arguments models = typed_files(arguments).models;
  Arguments words{models.empty() ? model : models[0]}, others = arguments;
  others.erase(others.begin());
  std::erase_if(others, [&](const std::string& word) { return word == words[0]; });
  words.insert(words.end(), {"--cluster", arguments.front()});
  const Arguments taken = options_taken(verb, words[0], others);
  words.insert(words.end(), taken.begin(), taken.end());
  return whole_command(verb, words);
}

// "plan cluster.json --cluster config.json", "plan cluster.json --gpus 8".
[[noreturn]] void refuse_cluster(const std::string& verb, const Arguments& arguments) {
  const std::string& cluster = arguments.front();
  const std::string what = fmt::format(
      "{}: this is a cluster, and a model belongs here\nhelp: the model comes first, the "
      "cluster after its option: ",
      cluster);
  const std::string model = model_here().empty() ? "config.json" : model_here();
  Arguments words = with_cluster_apart(arguments);
  const bool is_model_behind = words.size() > 1 && is_model(words[1]);
  if (is_model_behind) words.erase(words.begin());
  const auto read = read_by_verb(verb, words);
  if (!read) throw_bad_input(what + command_with_cluster(verb, model, arguments));
  const std::string* other = value_of(*read, {"--cluster"});
  if (!is_model_behind) words.front() = other != nullptr && is_model(*other) ? *other : model;
  if (other == nullptr) {
    words.insert(words.begin() + 1, {"--cluster", cluster});
  } else if (is_model(*other)) {
    std::replace(words.begin() + 1, words.end(), std::string(*other), cluster);
  }
  throw_bad_input(what + complete_command(verb, words, *read, "512"));
}

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
  const std::string* typed = value_of(read, {"--gpus"});
  return typed == nullptr || *typed == made.gpus ? "" : *typed;
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

// The files that a plan was made from, in place of it.
std::string command_for_its_model(const std::string& verb, Arguments arguments) {
  const auto read = read_by_verb(verb, arguments);
  const PlanMade made = plan_made(arguments.front());
  if (!read || made.model.empty() || made.gpus.empty() || made.batch.empty()) return "";
  arguments.front() = made.model;
  const bool has_cluster = value_of(*read, {"--cluster"}) != nullptr;
  const bool has_device = value_of(*read, {"--device"}) != nullptr;
  const bool is_profile = format_of_file(made.model).starts_with(kProfileFormat);
  Arguments machine;
  if (!made.cluster.empty() && !has_cluster && (is_profile || !has_device)) {
    machine = {"--cluster", made.cluster};
  } else if (!has_cluster && !has_device && !made.device.empty()) {
    machine = {"--device", made.device};
    const bool has_gpus = value_of(*read, {"--gpus", "--nodes"}) != nullptr;
    if (!has_gpus && verb != "predict") machine.insert(machine.end(), {"--gpus", made.gpus});
  }
  if (is_profile && !has_cluster && machine.empty()) return "";
  arguments.insert(arguments.begin() + 1, machine.begin(), machine.end());
  const std::string layout =
      verb == "predict" ? layout_besides(layout_on(other_gpus(made, *read), made), *read) : "";
  if (!layout.empty()) {
    arguments.insert(arguments.begin() + 1 + std::ssize(machine), {"--layout", layout});
    return command_of(verb, arguments);
  }
  return complete_command(verb, arguments, *read, made.batch);
}

// "validate plan.json step_time=4.61s": one time, and no log.
void refuse_time_as_run(const std::string& verb, const Arguments& arguments) {
  if (verb != "validate" || arguments.size() < 2 || arguments[1].starts_with('-')) return;
  const std::string& word = arguments[1];
  const std::size_t equals = word.find('=');
  std::string time = word.substr(equals + 1);
  const bool is_named = equals != std::string::npos && word.find("time") < equals;
  const bool is_bare = is_named && parse_duration(time + 's').has_value();
  if (is_bare && !parse_duration(time)) time += 's';
  std::error_code error;
  if (!parse_duration(time) || std::filesystem::exists(word, error)) return;
  const std::string command = command_for_its_model("predict", {arguments[0], "--measured", time});
  throw_bad_input(fmt::format(
      "'{}' is a time, and the log of a run belongs here\nhelp: {}; {} compares a whole run, step "
      "by step",
      word,
      command.empty() ? "of one time: penstock predict ... --measured " + time
                      : command + " compares one step that was measured with its prediction",
      command_of("validate", {arguments[0], "train.log"})));
}

// "predict plan.json --gpus 32" of a plan for 8; empty where no other number is asked about.
std::string help_for_other_gpus(const std::string& verb, const Arguments& arguments) {
  const auto read = read_by_verb(verb, arguments);
  const PlanMade made = plan_made(arguments.front());
  if (verb != "predict" || !read || value_of(*read, {"--layout"}) != nullptr) return "";
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

[[noreturn]] void refuse_plan(const std::string& verb, const Arguments& arguments) {
  const std::string& path = arguments.front();
  if (const Arguments plans = plans_or_json(arguments); verb == "compare" && plans.size() > 1) {
    throw_bad_input(fmt::format(
        "{0}: this is a plan, and a model belongs here\nhelp: {1} shows these plans on one page; "
        "penstock plan config.json ... --baseline {0} compares it with the best plan of that model",
        path, whole_command("report", plans)));
  }
  std::string help = help_for_other_gpus(verb, arguments);
  if (!help.empty()) {
    throw_bad_input(
        fmt::format("{}: this is a plan, and a model belongs here\nhelp: {}", path, help));
  }
  help =
      verb == "compare"
          ? fmt::format(
                "penstock plan config.json ... --baseline {0} compares it with the best "
                "plan of that model; penstock explain {0} says what would make it faster",
                path)
          : fmt::format(
                "penstock explain {0} says what limits it, penstock simulate {0} replays it", path);
  const std::string command = command_for_its_model(verb, arguments);
  if (!command.empty()) help += "; what it was made from: " + command;
  throw_bad_input(
      fmt::format("{}: this is a plan, and a model belongs here\nhelp: {}", path, help));
}

// "explain config.json --gpus 128": the plan that is asked about has to be made first.
void refuse_model(const std::string& verb, const Arguments& arguments) {
  if (!is_model(arguments.front())) return;
  const bool is_profile = format_of_file(arguments.front()).starts_with(kProfileFormat);
  throw_bad_input(fmt::format("{}: this is {}, and a plan belongs here\nhelp: {}",
                              arguments.front(), is_profile ? "a profile" : "a model's config.json",
                              help_for_plan_first(verb, arguments)));
}

// "profile profile.json", "multi config.json": a model or a profile where neither belongs.
void refuse_model_of_other_verb(const std::string& verb, const Arguments& arguments) {
  if (verb != "profile" && verb != "estimate" && verb != "multi") return;
  const FileRole role = role_of(arguments.front());
  const bool is_profile = role == FileRole::kProfile;
  if (!is_profile && (role != FileRole::kModel || verb != "multi")) return;
  Arguments words = arguments;  // a second model is no other question
  std::erase_if(words, [&](const std::string& word) {
    return word != words.front() && !typed_files({word}).models.empty();
  });
  throw_bad_input(
      fmt::format("{}: this is {}, and {} belongs here\nhelp: {}", arguments.front(),
                  is_profile ? "a profile" : "a model's config.json",
                  verb == "multi" ? "a list of jobs that share GPUs" : "a model's config.json",
                  help_for_files(verb, words)));
}

// "plan config.json,cluster.json", "explain a.json,b.json": files are words of their own.
void refuse_joined(const std::string& verb, const Arguments& arguments) {
  const std::string& word = arguments.front();
  std::error_code error;
  if (word.find(',') == std::string::npos || std::filesystem::exists(word, error)) return;
  Arguments files;
  std::istringstream parts(word);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!part.empty()) files.push_back(part);
  }
  if (files.empty() || !std::all_of(files.begin(), files.end(), [](const std::string& file) {
        return role_of(file) != FileRole::kNone;
      })) {
    return;
  }
  const TypedFiles typed = typed_files(files);
  if (verb == "multi") {
    Arguments all = files;
    all.insert(all.end(), arguments.begin() + 1, arguments.end());
    throw_bad_input(
        fmt::format("'{}': a comma joins no files\nhelp: {}", word, help_for_files(verb, all)));
  }
  Arguments words;
  const bool has_cluster = typed.models.size() == 1 && typed.clusters.size() == 1;
  if (has_cluster) {
    words = {typed.models[0], "--cluster", typed.clusters[0]};
  } else if (verb == "report" || verb == "validate") {
    words = files;
  } else {
    words = {files[0]};
  }
  const bool is_one = words.size() == 1;
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  throw_bad_input(fmt::format("'{}': a comma joins no files\nhelp: {}: {}", word,
                              files.size() == 1 ? "leave it out"
                              : is_one          ? "one file at a time"
                                                : "write them as words of their own",
                              whole_command(verb, words)));
}

// "explain bubble", "explain deployment.spec": a word and no file.
std::string help_for_word(const std::string& word) {
  constexpr std::string_view kOfWords =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_. ";
  const bool is_word = word.find_first_not_of(kOfWords) == std::string::npos &&
                       !word.ends_with(".json") && kind_of_text(word, "").words.empty();
  if (!is_word || !near_file(word, true, false, kPlanFormat).empty()) return "";
  return "it is no plan file, and a plan is explained here: penstock explain plan.json says what "
         "limits it; what words mean stands in docs/glossary.md, keys of files in "
         "docs/file_formats.md, and penstock VERB --help explains the options of a verb";
}

// "explain 2", "export '#2'": a row of the table that plan prints.
std::string help_for_row(const std::string& verb, const Arguments& arguments) {
  std::string row = arguments.front();
  if (row.starts_with('#')) row.erase(0, 1);
  constexpr std::size_t kMostDigits = 2;
  const bool is_row = !row.empty() && row.size() <= kMostDigits &&
                      row.find_first_not_of("0123456789") == std::string::npos;
  if (!is_row) return "";
  Arguments words = arguments;
  words.front() = fmt::format("plan{}.json", row);
  return fmt::format(
      "a plan file belongs here; to have plan {0} of the table that penstock plan printed, repeat "
      "that command with what its row says, and -o: penstock plan ... --pin TP=..,PP=..,DP=..,"
      "mbs=.. --schedule NAME -o plan{0}.json; then {1}",
      row, command_of(verb, words));
}

// "check job", where nobody exported one.
std::string help_for_folder(const Arguments& arguments) {
  std::string folder = arguments.front();
  while (folder.ends_with('/')) folder.pop_back();
  const bool is_file =
      folder.find('.') != std::string::npos || !kind_of_text(folder, "").words.empty();
  if (is_file || folder.empty()) return "";
  const std::string near = near_file(folder, false, false);
  return fmt::format("{}there is no such folder; {} -o {} makes one, and {} judges the files in it",
                     near.find('\'' + folder + '.') == std::string::npos ? "" : near + " ",
                     "penstock export plan.json --to megatron", shell_word(folder),
                     command_of("check", arguments));
}

// The same of one that is there.
void refuse_script_or_log(const std::string& verb, const std::string& takes,
                          const Arguments& arguments) {
  const FileRole role = role_of(arguments.front());
  const std::string words(kind_of_text(arguments.front(), "").words);
  const bool is_one = role == FileRole::kScript || role == FileRole::kLog;
  if (!is_one || words.empty() || verb == "profile") return;
  if (const std::string help = help_for_files(verb, arguments); !help.empty()) {
    const bool is_plan = takes == "PLAN";
    throw_bad_input(
        fmt::format("{}: this is not a JSON file, but {}, and {} belongs here\nhelp: {}",
                    arguments.front(), words, is_plan ? "a plan" : "a model", help));
  }
}

// "trace train.py --plan plan.json": the plan has no option.
void refuse_named_plan(const std::string& verb, const Arguments& arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), "--plan");
  const bool is_plan = arguments.end() - option > 1 && role_of(*(option + 1)) == FileRole::kPlan;
  if (!is_plan || role_of(arguments.front()) != FileRole::kScript) return;
  Arguments words{*(option + 1)};
  words.insert(words.end(), arguments.begin() + 1, option);
  words.insert(words.end(), option + 2, arguments.end());
  throw_bad_input(
      fmt::format("{}: no script is run or recorded here\nhelp: the plan comes first: {}",
                  arguments.front(), whole_command(verb, words)));
}

// "compare a_plan.json b_plan.json": a page has both, and `compare` a model.
std::string help_for_plans(const Arguments& arguments) {
  Arguments plans = plans_or_json(arguments), words = arguments;
  std::erase_if(words, [&plans](const std::string& word) {
    return std::find(plans.begin(), plans.end(), word) != plans.end();
  });
  if (plans.size() < 2) plans.emplace_back("other.json");
  return fmt::format("two plans on one page: {}; one model with several settings: {}",
                     whole_command("report", plans),
                     whole_command("compare", with_taken("compare", {"config.json"}, words)));
}

// "predict job/run.sh", "trace train.log", which nobody finds: the name says what it would be.
void refuse_missing(const std::string& verb, const std::string& takes, const Arguments& arguments) {
  const FileRole role = role_of(arguments.front());
  std::error_code error;
  const std::string& path = arguments.front();
  if (path == "-" || verb == "profile" || std::filesystem::exists(path, error)) return;
  const std::string_view wanted = takes == "PLAN" ? kPlanFormat : kProfileFormat;
  if (role == FileRole::kScript && !near_file(path, true, false, wanted).empty()) return;
  const bool is_named = role == FileRole::kScript || role == FileRole::kLog;
  const bool are_plans =
      role == FileRole::kPlan || (role == FileRole::kNone && plans_or_json(arguments).size() > 1);
  const std::string row = takes == "PLAN" ? help_for_row(verb, arguments) : "";
  const std::string help = verb == "compare" && are_plans ? help_for_plans(arguments)
                           : !row.empty()                 ? row
                           : is_named                     ? help_for_files(verb, arguments)
                           : verb == "explain"            ? help_for_word(arguments.front())
                           : verb == "check"              ? help_for_folder(arguments)
                                                          : "";
  if (help.empty()) return;
  throw Error(ErrorKind::kMissingResource,
              fmt::format("{}: cannot read this file: No such file or directory\nhelp: {}",
                          arguments.front(), help));
}

// "manage plan.json --spot": what belongs there is told before its options are.
void refuse_no_job(const std::string& verb, const Arguments& arguments) {
  if (verb != "manage" && verb != "status" && verb != "tell") return;
  const FileRole role = role_of(arguments.front());
  const std::string_view what = role == FileRole::kPlan      ? "a plan"
                                : role == FileRole::kModel   ? "a model's config.json"
                                : role == FileRole::kProfile ? "a profile"
                                : role == FileRole::kCluster ? "a cluster"
                                                             : "";
  if (what.empty()) return;
  throw_bad_input(fmt::format(
      "{}: this is {}, and a job file belongs here\nhelp: a job file (penstock.job/1) names a book "
      "of plans, the data and folders: data/jobs/two_machines.json is one to copy, penstock plan "
      "{} "
      "--device h100-sxm --gpus 8..64 --global-batch 512 -o book.json writes a book; then penstock "
      "{} job.json, whose manager carries on when GPUs come and go",
      arguments.front(), what,
      role == FileRole::kModel ? arguments.front() : std::string("config.json"),
      verb == "tell" ? "manage" : verb));
}

// "compare plan1.json plan2.json", of which the first is not there.
void refuse_missing_plans(const std::string& verb, const Arguments& arguments) {
  std::error_code error;
  if (verb != "compare" || std::filesystem::exists(arguments.front(), error)) return;
  Arguments files;
  for (const std::string& word : arguments) {
    if (word.starts_with('-')) break;
    files.push_back(word);
  }
  const bool are_plans =
      files.size() > 1 && std::all_of(files.begin(), files.end(), [](const std::string& file) {
        const FileRole role = role_of(file);
        return role == FileRole::kPlan || (role == FileRole::kNone && file.ends_with(".json"));
      });
  if (!are_plans) return;
  throw Error(ErrorKind::kMissingResource,
              fmt::format("{}: cannot read this file: No such file or directory\nhelp: plans that "
                          "penstock plan ... -o FILE wrote are shown on one page by {}; compare "
                          "plans one model with several settings: {}",
                          arguments.front(), whole_command("report", files),
                          whole_command("compare", {model_at_hand()})));
}

}  // namespace

void refuse_other_file(const std::string& usage, const Arguments& arguments) {
  refuse_file_as_tool(usage, arguments);
  refuse_verb_without_file(usage.substr(0, usage.find(' ')), arguments);
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  const std::string& path = arguments[0];
  if (usage.starts_with("schedule ") && is_schedule_of_other_field(path)) {
    static_cast<void>(schedule_called("NAME", path));  // says what belongs here
  }
  refuse_joined(usage.substr(0, usage.find(' ')), arguments);
  if (first_argument(usage) == "PLAN")
    refuse_named_plan(usage.substr(0, usage.find(' ')), arguments);
  refuse_missing_plans(usage.substr(0, usage.find(' ')), arguments);
  refuse_missing(usage.substr(0, usage.find(' ')), first_argument(usage), arguments);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::string verb = usage.substr(0, usage.find(' ')), takes = first_argument(usage),
                    format = format_of_file(path);
  if (is_plan_format(format)) refuse_time_as_run(verb, arguments);
  refuse_file_of_other_verb(verb, arguments);
  refuse_no_job(verb, arguments);
  refuse_model_of_other_verb(verb, arguments);
  // "validate train.log --plan plan.json": the right one is there as well.
  const bool has_plan = std::any_of(arguments.begin() + 1, arguments.end(), [](const auto& word) {
    return is_plan_format(format_of_file(word));
  });
  if (has_plan && takes == "PLAN") return;
  // A report of a model is one of its search.
  if (takes == "PLAN" && verb != "report") refuse_model(verb, arguments);
  const bool is_planned = verb == "plan" || verb == "predict" || verb == "compare";
  if (is_planned && format.starts_with(kClusterFormat)) refuse_cluster(verb, arguments);
  if (is_planned && is_plan_format(format)) refuse_plan(verb, arguments);
  if (is_planned && format.starts_with("penstock.") && !format.starts_with(kProfileFormat)) {
    expect_profile(load_json(path).value, path);  // a book, a job file: before what is missing
  }
  refuse_script_or_log(verb, takes, arguments);
  const bool is_other_file = format.empty() && !path.ends_with(".json") &&
                             !kind_of_text(path, "").words.empty() && verb != "profile";
  if (takes == "PLAN" && verb != "report" && verb != "trace" && !is_plan_format(format)) {
    static_cast<void>(load_plan_json(path));
  } else if (takes == "MODEL" && is_other_file) {
    static_cast<void>(load_json(path));
  }
}

}  // namespace penstock
