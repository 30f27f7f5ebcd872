// A file of another kind in the first place: what it is, and the command that was probably meant,
// with the options that were typed.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/cluster_as_model.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/missing_file.h"
#include "cli/answers/files/own_training.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/managed_job.h"
#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/plan_json.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/options/options_entry.h"
#include "cli/words/near_files.h"
#include "cli/words/schedule_called.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::string_view kProfileFormat = "penstock.profile/";

// "explain config.json --gpus 128": the plan that is asked about has to be made first.
void refuse_model(const std::string& verb, const Arguments& arguments) {
  if (!is_model_file(arguments.front())) return;
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
  Arguments words = arguments;  // a second model is no other question, but another job
  std::erase_if(words, [&](const std::string& word) {
    return verb != "multi" && word != words.front() && !typed_files({word}).models.empty();
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
  if (word.find(',') == std::string::npos || is_there(word)) return;
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

// The same of one that is there.
void refuse_script_or_log(const std::string& verb, const std::string& takes,
                          const Arguments& arguments) {
  const FileRole role = role_of(arguments.front());
  const std::string words(kind_of_text(arguments.front(), "").words);
  const bool is_one = role == FileRole::kScript || role == FileRole::kLog;
  if (!is_one || words.empty()) return;
  if (verb == "profile") {
    const std::string text = load_text(arguments.front(), "");
    if (arguments.size() == 1 || !is_own_training(text)) return;
    throw_bad_input(
        fmt::format("{}: this is {}, which is not run here, and a model belongs here\nhelp: "
                    "{}\nhelp: the model alone is measured by its config.json: penstock "
                    "profile config.json --device cuda -o profile.json",
                    arguments.front(), words, help_for_own_training(text)));
  }
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

}  // namespace

void refuse_other_file(const std::string& usage, const Arguments& arguments) {
  const std::string verb = usage.substr(0, usage.find(' ')), takes = first_argument(usage);
  refuse_file_as_tool(usage, arguments);
  refuse_verb_without_file(verb, arguments);
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  const std::string& path = arguments[0];
  if (usage.starts_with("schedule ") && is_schedule_of_other_field(path)) {
    static_cast<void>(schedule_called("NAME", path));  // says what belongs here
  }
  refuse_joined(verb, arguments);
  if (takes == "PLAN") refuse_named_plan(verb, arguments);
  refuse_missing_file(verb, takes, arguments);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::string format = format_of_file(path);
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
  const bool searches = verb == "report" && !value_of(arguments, {"--layout"});
  if (takes == "PLAN" && !searches) refuse_model(verb, arguments);
  const bool is_planned = verb == "plan" || verb == "predict" || verb == "compare";
  if (is_planned && format.starts_with("penstock.cluster/"))
    refuse_cluster_as_model(verb, arguments);
  const bool takes_model = is_planned || verb == "dynamic";
  if (takes_model && is_plan_format(format)) refuse_plan_as_model(verb, arguments);
  if (is_planned && format.starts_with("penstock.") && !format.starts_with(kProfileFormat)) {
    expect_profile(load_json(path).value, path);  // a book, a job file: before what is missing
  }
  refuse_script_or_log(verb, takes, arguments);
  refuse_file_at_hand(verb, takes, arguments);
  const bool is_other_file = format.empty() && !path.ends_with(".json") &&
                             !kind_of_text(path, "").words.empty() && verb != "profile";
  if (takes == "PLAN" && verb != "report" && verb != "trace" && !is_plan_format(format)) {
    static_cast<void>(load_plan_json(path));
  } else if (takes == "MODEL" && is_other_file) {
    static_cast<void>(load_json(path));
  }
}

}  // namespace penstock
