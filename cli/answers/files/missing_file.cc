#include "cli/answers/files/missing_file.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/io/file_kinds.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"
#include "core/files/format.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

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
  const std::string& path = arguments.front();
  if (path == "-" || verb == "profile" || is_there(path)) return;
  const std::string_view wanted = takes == "PLAN" ? kPlanFormat : "penstock.profile/";
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

// "compare plan1.json plan2.json", of which the first is not there.
void refuse_missing_plans(const std::string& verb, const Arguments& arguments) {
  if (verb != "compare" || is_there(arguments.front())) return;
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

void refuse_missing_file(const std::string& verb, const std::string& takes,
                         const Arguments& arguments) {
  refuse_missing_plans(verb, arguments);
  refuse_missing(verb, takes, arguments);
}

}  // namespace penstock
