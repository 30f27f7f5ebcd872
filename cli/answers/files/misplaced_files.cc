#include "cli/answers/files/misplaced_files.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/refusal_of.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool takes_model(const OptionTable& table) {
  const std::string first = first_argument(table.usage);
  return first == "MODEL" || first == "CONFIG";
}

[[noreturn]] void refuse(const GivenOption& option, FileRole role, const std::string& help) {
  throw_bad_input(fmt::format("{}: {}: this is {}, and {} belongs here\nhelp: {}", option.name,
                              option.value, words_of_role(role),
                              option.name == "--device" ? "a GPU" : "a cluster", help));
}

// "--device cluster.json"
void refuse_cluster_as_device(const OptionTable& table, const Arguments& words,
                              const GivenWords& given, const GivenOption& option) {
  const bool has_cluster =
      std::any_of(given.options.begin(), given.options.end(),
                  [](const GivenOption& each) { return each.name == "--cluster"; });
  const Arguments instead = has_cluster ? Arguments() : Arguments{"--cluster", option.value};
  refuse(option, FileRole::kCluster,
         fmt::format("{}: {}",
                     has_cluster ? "--cluster says which GPUs there are; leave --device out"
                                 : "a cluster has an option of its own",
                     whole_command(verb_of(table), with_instead(words, option, instead))));
}

// "plan --cluster config.json", "plan config.json --device config.json"
void refuse_model_as_machine(const OptionTable& table, const Arguments& words,
                             const GivenWords& given, const GivenOption& option, FileRole role) {
  Arguments rest = with_instead(words, option, {});
  if (given.bare.empty()) rest.insert(rest.begin(), option.value);
  refuse(option, role,
         fmt::format("{}: {}",
                     given.bare.empty() ? "the model comes first, without an option"
                                        : "the model is the argument without an option",
                     whole_command(verb_of(table), rest)));
}

void refuse_machines(const OptionTable& table, const Arguments& words) {
  const GivenWords given = given_words(table, words);
  for (const GivenOption& option : given.options) {
    const bool is_machine = option.name == "--cluster" || option.name == "--device";
    if (!is_machine || row_named(table, option.name) == nullptr || !is_file(option.value)) continue;
    const FileRole role = role_of(option.value);
    if (role == FileRole::kCluster && option.name == "--device" &&
        row_named(table, "--cluster") != nullptr) {
      refuse_cluster_as_device(table, words, given, option);
    }
    const bool is_model = role == FileRole::kModel || role == FileRole::kProfile;
    if (is_model && takes_model(table)) refuse_model_as_machine(table, words, given, option, role);
  }
}

// The JSON files of a folder that are of one of the roles, in the order of their names.
std::vector<std::string> files_in(const std::string& folder, const std::vector<FileRole>& roles) {
  std::vector<std::string> files;
  std::error_code error;
  constexpr std::size_t kMostRead = 200;
  std::size_t read = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json") || ++read > kMostRead || !is_file(path)) continue;
    if (std::find(roles.begin(), roles.end(), role_of(path)) != roles.end()) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "a.json, b.json, c.json and 16 others"
std::string listed(const std::vector<std::string>& files) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> names;
  for (const std::string& file : files) {
    if (names.size() < kMost) names.push_back(fs::path(file).filename().string());
  }
  const std::size_t more = files.size() - names.size();
  return joined(names, ", ") + (more > 0 ? fmt::format(" and {} others", more) : "");
}

// The words with a file in place of its folder, also in "--cluster=FOLDER".
Arguments with_file(Arguments words, const std::string& folder, const std::string& file) {
  for (std::string& word : words) {
    if (word == folder) word = file;
    if (word.ends_with('=' + folder))
      word.replace(word.size() - folder.size(), folder.size(), file);
  }
  return words;
}

bool is_refused(const std::string& verb, Arguments words) {
  words.insert(words.begin(), verb);
  return refusal_of(words).has_value();
}

// To try one takes as long as the command until its search begins.
constexpr std::size_t kMostTried = 20;

// The first of which nothing in the command would be refused, and before it one that is named in
// many examples.
std::string best_of(std::vector<std::string> files, const OptionTable& table,
                    const Arguments& words, const std::string& folder) {
  std::stable_partition(files.begin(), files.end(), [](const std::string& file) {
    return fs::path(file).filename() == "llama-3-8b.json";
  });
  files.resize(std::min(files.size(), kMostTried));
  const auto best = std::find_if(files.begin(), files.end(), [&](const std::string& file) {
    return !is_refused(verb_of(table), with_file(words, folder, file));
  });
  return best == files.end() ? files.front() : *best;
}

bool is_folder_of_files(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !fs::exists(fs::path(path) / "config.json", error);
}

void refuse_folder_as(std::string_view what, const OptionTable& table, const Arguments& words,
                      const std::string& folder, const std::vector<FileRole>& roles) {
  if (!is_folder_of_files(folder)) return;
  const std::vector<std::string> files = files_in(folder, roles);
  if (files.empty()) return;
  const std::string file = best_of(files, table, words, folder);
  throw_bad_input(fmt::format(
      "{}: this is a folder, and {} belongs here\nhelp: give one of its files ({}): {}", folder,
      what, listed(files), whole_command(verb_of(table), with_file(words, folder, file))));
}

// "compare ... --vary cluster=data/clusters": those of its files that the rest of the command
// suits.
void refuse_varied_folder(const OptionTable& table, const Arguments& words,
                          const GivenOption& option) {
  constexpr std::string_view kCluster = "cluster=";
  if (option.name != "--vary" || !option.value.starts_with(kCluster)) return;
  const std::string folder = option.value.substr(kCluster.size());
  if (!is_folder_of_files(folder)) return;
  const std::vector<std::string> files = files_in(folder, {FileRole::kCluster});
  std::vector<std::string> taken = files;
  taken.resize(std::min(taken.size(), kMostTried));
  std::erase_if(taken, [&](const std::string& file) {
    const Arguments one{"--vary", std::string(kCluster) + file};
    return is_refused(verb_of(table), with_instead(words, option, one));
  });
  if (files.empty()) return;
  const std::string list = joined(taken.empty() ? files : taken, ",");
  throw_bad_input(fmt::format(
      "{}: this is a folder, and clusters belong here\nhelp: name its files, with commas: {}",
      folder,
      whole_command(verb_of(table),
                    with_instead(words, option, {"--vary", std::string(kCluster) + list}))));
}

// "plan data/models --cluster data/clusters", "explain plans"
void refuse_folders(const OptionTable& table, const Arguments& words) {
  const std::string first = first_argument(table.usage);
  if (!words.empty() && takes_model(table)) {
    refuse_folder_as("a model's config.json", table, words, words[0],
                     first == "CONFIG" ? std::vector{FileRole::kModel}
                                       : std::vector{FileRole::kModel, FileRole::kProfile});
  }
  if (!words.empty() && first == "PLAN") {
    refuse_folder_as("a plan", table, words, words[0], {FileRole::kPlan});
  }
  if (row_named(table, "--cluster") == nullptr) return;
  for (const GivenOption& option : given_words(table, words).options) {
    refuse_varied_folder(table, words, option);
    if (option.name != "--cluster") continue;
    refuse_folder_as("a cluster", table, words, option.value, {FileRole::kCluster});
  }
}

// "--lengths data/lengths": an option that takes a file, and no folder.
void refuse_folder_of_option(const OptionTable& table, const Arguments& words) {
  for (const GivenOption& option : given_words(table, words).options) {
    const OptionRow* row = row_named(table, option.name);
    const bool takes_file = row != nullptr && row->value_name == "FILE" && !row->repeated &&
                            row->help.find("folder") == std::string::npos;
    const bool is_written =
        option.name == "-o" || row == nullptr || row->help.find("write") != std::string::npos;
    std::error_code error;
    if (!takes_file || is_written || !fs::is_directory(option.value, error)) continue;
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(option.value, error)) {
      if (is_file(entry.path().string())) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    if (files.empty()) continue;
    bad_option(option.name, fmt::format("{} is a folder, and a file belongs here", option.value),
               fmt::format("give one of its files ({}): {}", listed(files),
                           whole_command(verb_of(table),
                                         with_instead(words, option, {option.name, files[0]}))));
  }
}

// "report step.html -o plan.json": the page would be written in the place of the plan.
void refuse_swapped(const OptionTable& table, const Arguments& words) {
  const GivenWords given = given_words(table, words);
  if (first_argument(table.usage) != "PLAN" || given.bare.empty()) return;
  const std::string& first = given.bare.front();
  for (const GivenOption& option : given.options) {
    const bool is_output = option.name == "-o" || option.name == "--output";
    const bool ends_alike = fs::path(first).extension() == fs::path(option.value).extension();
    if (!is_output || ends_alike || role_of(first) != FileRole::kNone ||
        role_of(option.value) != FileRole::kPlan) {
      continue;
    }
    Arguments swapped = with_instead(words, option, {});
    std::replace(swapped.begin(), swapped.end(), first, option.value);
    swapped.insert(swapped.end(), {"-o", first});
    throw_bad_input(
        fmt::format("{0} is a plan, and -o would write over it\nhelp: the plan comes first, and -o "
                    "names what is written: {1}",
                    option.value, whole_command(verb_of(table), swapped)));
  }
}

}  // namespace

void refuse_misplaced_files(const OptionTable& table, const Arguments& words) {
  refuse_swapped(table, words);
  refuse_folders(table, words);
  refuse_folder_of_option(table, words);
  refuse_machines(table, words);
}

}  // namespace penstock
