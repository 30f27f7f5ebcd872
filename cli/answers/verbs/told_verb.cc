#include "cli/answers/verbs/told_verb.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_spelled.h"

namespace penstock {
namespace {

struct Tool {
  std::string_view part, name, file, holds;
};
constexpr std::array kTools{Tool{"nccl", "nccl-tests", "all_reduce.txt", "curves of collectives"},
                            Tool{"-perf", "nccl-tests", "all_reduce.txt", "curves of collectives"},
                            Tool{"nvbandwidth", "nvbandwidth", "out.json", "bandwidths"},
                            Tool{"skypilot", "skypilot", "vms.csv", "prices"}};

std::string help_for_tool(const std::string& word, const Arguments& rest) {
  const auto tool = std::find_if(kTools.begin(), kTools.end(), [&word](const Tool& each) {
    return word.find(each.part) != std::string::npos;
  });
  if (tool == kTools.end()) return "";
  const bool has_file = !rest.empty() && !rest.front().starts_with('-');
  Arguments words{std::string(tool->name)};
  if (!has_file) words.emplace_back(tool->file);
  words.insert(words.end(), rest.begin(), rest.end());
  if (!verb_takes("import", words)) words.resize(2);
  const std::string command = command_of("import", words);
  if (value_of(words, {"--cluster"})) return "a tool's output is imported: " + command;
  return fmt::format(
      "a tool's output is imported: {} prints its {}, and with --cluster cluster.json -o new.json "
      "puts them into a cluster file",
      command, tool->holds);
}

// "1f1b,zb-h1": all of them are schedules.
Arguments schedules_in(const std::string& word) {
  Arguments schedules;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    const std::string_view schedule = schedule_spelled(word.substr(at, end - at));
    if (schedule.empty()) return {};
    schedules.emplace_back(schedule);
    at = end + 1;
  }
  return schedules;
}

std::string help_for_schedule(const std::string& word, const Arguments& rest) {
  const Arguments schedules = schedules_in(word);
  if (schedules.empty()) return "";
  const std::string list = fmt::format("{}", fmt::join(schedules, ","));
  const TypedFiles files = typed_files(rest);
  if (!files.plans.empty()) {
    return "a schedule is no verb: " +
           command_of("explain", {files.plans[0], "--why-not", "schedule=" + schedules[0]}) +
           " compares the plan with the best one that has it";
  }
  if (files.models.empty()) {
    Arguments words{list};
    words.insert(words.end(), rest.begin(), rest.end());
    if (!verb_takes("schedule", words)) words = {list};
    return "a schedule is named to a verb: " + whole_command("schedule", words);
  }
  const bool is_one = schedules.size() == 1;
  const std::string_view verb = is_one ? "plan" : "compare";
  Arguments words = with_taken(verb, {files.models[0]}, rest);
  words.insert(words.end(), {is_one ? "--schedule" : "--vary", is_one ? list : "schedule=" + list});
  return "a schedule is named to a verb: " + whole_command(verb, words);
}

// "fsdp config.json", "zero3": a choice of a plan.
std::string help_for_choice(const std::string& word, const Arguments& rest) {
  const std::string pair = pair_called(word);
  const TypedFiles files = typed_files(rest);
  if (pair.empty() || !files.scripts.empty()) return "";
  if (!files.plans.empty()) {
    return "that is a choice of a plan: " +
           command_of("explain", {files.plans[0], "--why-not", pair}) +
           " compares the plan with the best one that has it";
  }
  const std::size_t equals = pair.find('=');
  Arguments words =
      with_taken("plan", {files.models.empty() ? "config.json" : files.models[0]}, rest);
  words.insert(words.end(), {"--" + pair.substr(0, equals), pair.substr(equals + 1)});
  return "that is a choice of a plan, which is searched, or given: " + whole_command("plan", words);
}

}  // namespace

std::string help_for_value_as_verb(const std::string& word, const Arguments& rest) {
  if (std::string help = help_for_tool(plain_word(word), rest); !help.empty()) return help;
  if (std::string help = help_for_schedule(word, rest); !help.empty()) return help;
  return help_for_choice(word, rest);
}

std::string verb_of_options(const Arguments& rest) {
  constexpr std::size_t kMostRead = 16;
  // Those that answer a question of their own: "--model" and "--data" are typed to any verb.
  constexpr std::array<std::string_view, 7> kTold{"predict", "compare", "dynamic",  "morph",
                                                  "multi",   "import",  "calibrate"};
  std::string told;
  std::size_t read = 0;
  for (const std::string& word : rest) {
    if (!word.starts_with("--") || word.size() < 4 || ++read > kMostRead) continue;
    const std::vector<std::string> verbs = verbs_with_option(word.substr(0, word.find('=')));
    const bool is_batch = word.substr(0, word.find('=')) == "--batch";  // of any verb's step
    if (is_batch || verbs.size() != 1 || !is_among(kTold, verbs.front())) continue;
    if (!told.empty() && told != verbs.front()) return "";
    told = verbs.front();
  }
  return told;
}

Arguments with_flag_called(const std::string& typed, const std::string& verb, Arguments rest) {
  const Verb* found = find_verb(verb);
  const std::string flag = "--" + plain_word(typed);
  if (found == nullptr || is_among(rest, flag)) return rest;
  for (const OptionRow& row : options_of(*found).rows) {
    if (!row.takes_value() && !row.positional && is_among(row.names, flag)) rest.push_back(flag);
  }
  return rest;
}

}  // namespace penstock
