#include "cli/answers/files/surplus_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/job_file.h"
#include "cli/answers/files/own_training.h"
#include "cli/answers/files/second_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/recording_typed.h"
#include "cli/io/file_kinds.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/options/options_entry.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"
#include "cli/words/schedule_spelled.h"
#include "cli/words/trainer_called.h"
#include "core/files/plan_format.h"
#include "report/words.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool is_written_so(const std::string& word, std::string_view ending) {
  return word.size() > ending.size() && word.ends_with(ending);
}

bool is_trainer(const std::string& word) { return find_trainer(trainer_called(word)) != nullptr; }

// The file or the name that a verb was given.
std::string first_word_of(const Arguments& own) {
  const auto first = std::find_if(own.begin(), own.end(),
                                  [](const std::string& word) { return !word.starts_with('-'); });
  return first == own.end() ? "FILE" : *first;
}

// Of our formats, but clusters, which have an option.
bool is_of_other_format(const std::string& word) {
  const std::string format = format_of_file(word);
  return !format.empty() && !format.starts_with("penstock.cluster");
}

// "export plan.json deepspeed_config.yaml": the trainer that the name says, or an example.
std::string help_for_trainers_file(const SurplusWord& surplus) {
  std::string name = plain_word(std::filesystem::path(surplus.word).stem().string());
  std::string trainer = "megatron";
  std::replace(name.begin(), name.end(), '-', ' ');
  std::istringstream parts(name);
  for (std::string part; parts >> part;) {
    if (is_trainer(part)) trainer = trainer_called(part);
  }
  Arguments own = surplus.others();
  const bool is_named = is_among(own, "--to");
  if (!is_named) own.insert(own.end(), {"--to", trainer});
  const bool has_folder = std::any_of(own.begin(), own.end(), [](const std::string& each) {
    return each.starts_with("-o") || each.starts_with("--output");
  });
  if (!has_folder) own.insert(own.end(), {"-o", "job"});
  if (is_named) {
    return "the trainer's files, their names among them, are written into a folder: " +
           whole_command("export", own);
  }
  return fmt::format(
      "no file of a trainer is read; one is named (--to pytorch, torchtitan, megatron, deepspeed "
      "...: penstock export --help), and its files are written into a folder: {}",
      whole_command("export", own));
}

std::string help_for_log(const SurplusWord& surplus) {
  const bool is_log = is_written_so(surplus.word, ".jsonl") || is_written_so(surplus.word, ".log");
  return is_log && surplus.has("--run") ? "the run follows its option: --run " + surplus.word : "";
}

std::string help_for_exported(const SurplusWord& surplus) {
  if (!surplus.has("--to")) return "";
  if (role_of(surplus.word) == FileRole::kScript) return help_for_trainers_file(surplus);
  return is_of_other_format(surplus.word) || surplus.word.ends_with(".json")
             ? "one plan is exported at a time: penstock export plan.json --to megatron"
             : "";
}

// "check job/run.sh job/job.sbatch": one of them, or their folder, with the options.
std::string help_for_one_of_folder(const SurplusWord& surplus) {
  Arguments one = surplus.own;
  for (const std::string& word : surplus.left) one.erase(std::find(one.begin(), one.end(), word));
  const auto file = std::find(one.begin(), one.end(), first_word_of(one));
  if (file == one.end()) return "";
  const std::filesystem::path folder = std::filesystem::path(*file).parent_path();
  Arguments all = one;
  all[static_cast<std::size_t>(file - one.begin())] = folder.empty() ? "." : folder.string();
  return fmt::format("one file at a time: {}; all files of the folder: {}",
                     whole_command("check", one), whole_command("check", all));
}

std::string help_for_checked(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  if (surplus.has("--as") && (is_launch_file(word) || word.ends_with("config.json"))) {
    const std::string first = first_word_of(surplus.own);
    if (is_trainer(first)) {
      return fmt::format("the trainer follows its option: penstock check {} --as {}", word, first);
    }
    const bool is_config = word.ends_with("config.json") && !is_launch_file(word);
    if (!is_config && role_of(first) != FileRole::kModel) {  // "check job/*.sh"
      return help_for_one_of_folder(surplus);
    }
    return fmt::format(
        "a launch file comes first, and the model follows its option: penstock "
        "check {} --config {}",
        is_config ? first : word, is_config ? word : first);
  }
  if (!surplus.usage.starts_with("check") || surplus.own.empty() || !is_there(word)) return "";
  return help_for_one_of_folder(surplus);
}

// "validate train.log plan.json", "explain plan.json other.json".
std::string help_for_second_plan(const SurplusWord& surplus) {
  const bool takes_plan =
      surplus.usage.find(" PLAN") != std::string::npos && !surplus.usage.starts_with("report");
  if (!takes_plan || surplus.own.empty() || !is_of_other_format(surplus.word)) return "";
  const std::string& first = surplus.own[0];
  return role_of(first) == FileRole::kLog ? "the log of a run comes after its plan: " +
                                                command_of("validate", {surplus.word, first})
                                          : fmt::format("one file at a time: penstock {} {}",
                                                        surplus.verb(), first_word_of(surplus.own));
}

std::string help_for_book_and_trace(const SurplusWord& surplus) {
  if (!surplus.has("--book") || !surplus.has("--trace")) return "";
  constexpr int kUsual = 64;
  std::string book = "book.json", trace = kTrace;
  for (const std::string& word : surplus.left) {
    if (word.ends_with(".csv")) trace = word;
    if (role_of(word) == FileRole::kBook) book = word;
  }
  return fmt::format("the book and the recording have options: {}{}",
                     command_of("morph", {"--book", book, "--trace", trace}),
                     remark_on_trace({trace, ""}, kUsual));
}

std::string help_for_written(const SurplusWord& surplus) {
  constexpr std::array<std::string_view, 5> kWritten{".html", ".svg", ".png", ".csv", ".md"};
  const bool is_output =
      surplus.has("--output") &&
      std::any_of(kWritten.begin(), kWritten.end(),
                  [&](std::string_view ending) { return surplus.word.ends_with(ending); });
  return is_output ? "to write a file: -o " + surplus.word : "";
}

// "report *.json": the plans of all files.
std::string help_for_reported(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  Arguments words = typed_files(surplus.own).plans;
  if (words.size() > 1 && is_there(word)) {
    return "a page shows plans, and other files are none: " +
           whole_command("report", with_taken("report", words, surplus.own));
  }
  return format_of_file(word).starts_with("penstock.book/")
             ? "that is a book of plans, and a page shows plans: penstock plan ... --gpus N -o "
               "plan.json writes the one for N GPUs"
         : is_there(word)
             ? "plans follow the first one: penstock report plan.json other.json -o report.html"
             : fmt::format("there is no file {}: plans are compared that are there", word);
}

// "plan profile.json a.json b.json", "--cluster a.json b.json": one model on each of the clusters.
std::string help_for_second_cluster(const SurplusWord& surplus) {
  if (!surplus.has("--cluster") || !surplus.has("--global-batch")) return "";
  Arguments clusters, words = surplus.own;
  const auto given = std::find(words.begin(), words.end(), "--cluster");
  if (words.end() - given > 1) {
    clusters.push_back(*(given + 1));
    words.erase(given, given + 2);
  }
  for (const std::string& word : surplus.left) {
    if (role_of(word) != FileRole::kCluster) continue;
    clusters.push_back(word);
    words.erase(std::find(words.begin(), words.end(), word));
  }
  if (clusters.size() < 2) return "";
  words.insert(words.end(), {"--vary", "cluster=" + joined(clusters, ",")});
  return "one cluster at a time; to plan for each: " +
         command_of_taken("compare", {words.front()}, words);
}

std::string help_for_varied(const SurplusWord& surplus) {
  if (!surplus.has("--vary")) return "";
  return fmt::format(
      "one model is planned with several settings: {}; penstock plan ... --baseline plan.json "
      "compares the best plan with another",
      whole_command("compare", surplus.others()));
}

// "plan data/models/*.json": one of them, with the options.
std::string help_for_many(const SurplusWord& surplus) {
  if (!surplus.has("--global-batch")) return "";
  Arguments own = surplus.own;
  for (const std::string& word : surplus.left) own.erase(std::find(own.begin(), own.end(), word));
  return fmt::format(
      "one model is planned at a time; a cluster file follows --cluster: {}; models that share "
      "GPUs are a list of jobs (docs/multi.md has its keys, data/multi some to copy): {}",
      whole_command(surplus.verb(), own), command_of("multi", Arguments{"jobs.json"}));
}

std::string help_for_last_file(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  if (surplus.has("--cost-file")) return "costs in a file follow their option: --cost-file " + word;
  if (is_there(word)) {
    return surplus.has("--cluster") ? "a cluster file follows its option: --cluster " + word : "";
  }
  const bool is_named = surplus.is_given("-o") || surplus.is_given("--output");
  return surplus.has("--output") && !is_named ? "to write a file: -o " + word : "";
}

std::string help_for_json_file(const SurplusWord& surplus) {
  if (!surplus.word.ends_with(".json")) return "";
  if (surplus.usage.starts_with("multi")) {
    return fmt::format(
        "all jobs are in one file, penstock multi jobs.json --gpus N, with "
        "jobs.json: {}",
        kLeastJobsFile);
  }
  if (surplus.usage.starts_with("report")) return help_for_reported(surplus);
  return first_help({help_for_second_model, help_for_varied, help_for_many, help_for_last_file},
                    surplus);
}

// "config.json", which no format says: a file of runs names it.
std::string help_for_no_runs(const std::string& word) {
  std::string help = help_for_misplaced(word, "--runs");
  if (!help.empty()) return help;
  const std::string_view what = is_there(word) ? words_of_role(role_of(word)) : "";
  if (what.empty()) return "it follows its option: --runs " + word;
  return fmt::format(
      "it is {}, and a file of runs belongs here, which names its model and cluster: penstock "
      "validate plan.json train.log --add-to runs.json writes one, of a plan and the log of its "
      "run; then penstock calibrate --runs runs.json",
      what);
}

}  // namespace

std::string help_for_runs(const SurplusWord& surplus) {
  if (!surplus.usage.starts_with("calibrate")) return "";
  std::string plan = "plan.json", log = "train.log";
  bool is_run = false;
  for (const std::string& file : surplus.left) {
    const bool is_plan = is_plan_format(format_of_file(file));
    const bool is_log = is_written_so(file, ".log") || is_written_so(file, ".jsonl") ||
                        is_written_so(file, ".out") || is_written_so(file, ".txt");
    if (is_plan) plan = file;
    if (is_log) log = file;
    is_run = is_run || is_plan || is_log;
  }
  if (!is_run && surplus.left.size() == 1) return help_for_no_runs(surplus.left[0]);
  if (is_there(log) && std::filesystem::is_regular_file(log)) {
    const std::string text = load_text(log, "");
    if (is_own_training(text)) return help_for_own_training(text);
  }
  return fmt::format(
      "penstock validate {} {} --add-to runs.json adds a run; then penstock calibrate "
      "--runs runs.json",
      plan, log);
}

std::string help_for_needed(const SurplusWord& surplus) {
  const std::string &usage = surplus.usage, &word = surplus.word;
  if (!looks_like_file(word)) return "";
  for (std::size_t at = usage.find(" --"); at != std::string::npos;
       at = usage.find(" --", at + 1)) {
    const std::string option = usage.substr(at + 1, usage.find(' ', at + 1) - at - 1);
    if (!usage.substr(at + 1 + option.size()).starts_with(" FILE")) continue;
    if (surplus.is_given(option)) continue;
    const std::string help = help_for_misplaced(word, option);
    return help.empty() ? fmt::format("it follows its option: {} {}", option, word) : help;
  }
  return "";
}

std::string help_for_script(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  if (surplus.has("--to") && (is_launch_file(word) || role_of(word) == FileRole::kScript)) {
    return help_for_trainers_file(surplus);
  }
  return !surplus.has("--as") && is_launch_file(word)
             ? help_for_launch_file(word, surplus.asked.known)
             : "";
}

std::string help_for_subcommand(const SurplusWord& surplus) {
  const Arguments& own = surplus.own;
  const auto& rows = surplus.asked.index().rows();
  const auto places =
      std::count_if(rows.begin(), rows.end(), [](const OptionRow& row) { return row.positional; });
  const bool is_word = !own.empty() && own[0].find_first_of("./-") == std::string::npos &&
                       schedule_spelled(own[0]).empty() && !is_there(own[0]) && !is_trainer(own[0]);
  if (places != 1 || !is_word || own[0] == surplus.word || !looks_like_file(surplus.word))
    return "";
  if (surplus.usage.starts_with("manage ") && role_of(surplus.word) == FileRole::kPlan) {
    return fmt::format(
        "leave '{}' out; a job file (penstock.job/1) belongs here, which names a book of plans: "
        "{} writes one to edit; penstock plan ... --gpus 8..64 -o book.json writes a book",
        own[0], kWriteJobFile);
  }
  return fmt::format("leave '{}' out: {}", own[0],
                     command_of(surplus.verb(), Arguments(own.begin() + 1, own.end())));
}

std::string help_for_file(const SurplusWord& surplus) {
  return first_help(
      {help_for_log, help_for_second_cluster, help_for_exported, help_for_checked,
       help_for_second_plan, help_for_book_and_trace, help_for_written, help_for_json_file},
      surplus);
}

}  // namespace penstock
