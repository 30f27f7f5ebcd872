// What to do about arguments that are left over, missing or given twice. Unknown options are read
// by option_readings.h, words without dashes by surplus_words.cc.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/near_files.h"
#include "cli/io/plan_json.h"
#include "cli/options/able_verbs.h"
#include "cli/options/longest_name.h"
#include "cli/options/option_aliases.h"
#include "cli/options/options_entry.h"
#include "cli/options/parse.h"
#include "cli/options/schedule_spelled.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {

// "import nccl.txt": what stands in the first place is none of the words that belong there, and
// that is why a later one is missing.
void Options::refuse_other_choice(const Entry& missing) const {
  for (const Entry& entry : entries_) {
    if (&entry == &missing) return;
    if (!entry.is_positional || entry.choices.empty() || entry.option->results().empty()) continue;
    const std::string& word = entry.option->results()[0];
    if (std::find(entry.choices.begin(), entry.choices.end(), word) != entry.choices.end())
      continue;
    bad_option(entry.names, fmt::format("'{}' is none of {}", word, joined(entry.choices, ", ")),
               fmt::format("usage: penstock {}", usage_));
  }
}

// Two values of an option that takes one.
std::string Options::help_for_repeated(const std::string& names, const std::string& value_name,
                                       const std::vector<std::string>& values) const {
  const std::string name = parse_list("option", names).back();
  const bool are_equal =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  if (are_equal) return "keep one of them";
  if (value_name.find(",...") != std::string::npos || value_name == "LIST") {
    return fmt::format("write them as one: {} {}", name, joined(values, ","));
  }
  const bool has_range = std::any_of(values.begin(), values.end(), [](const std::string& each) {
    return each.find("..") != std::string::npos;
  });
  if (has_range) return "keep one of them";
  if (name == "--device" && has("--gpus")) {
    return fmt::format(
        "penstock compare ... --vary device={} plans for each; GPUs of several "
        "types at once are a cluster file: --cluster FILE",
        joined(values, ","));
  }
  if (name == "--gpus" || name == "--global-batch" || name == "--sequence-length") {
    return fmt::format("keep one of them; penstock compare ... --vary {}={} plans for each",
                       name.substr(2), joined(values, ","));
  }
  return "keep one of them";
}

std::string Options::help_for_value(const std::string& name) const {
  for (const Entry& entry : entries_) {
    const std::vector<std::string> names = parse_list("option", entry.names);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    return fmt::format("write {} {}: {}", name, entry.value_name,
                       entry.help.substr(0, entry.help.find(". ")));
  }
  return fmt::format("usage: penstock {}", usage_);
}

bool Options::has(const char* name) const {
  const std::vector<std::string> known = known_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

// "compare 1f1b zb-h1 -P 8 -M 32": costs without a model.
void Options::refuse_schedule(const Arguments& arguments) const {
  const auto file = std::find_if(entries_.begin(), entries_.end(),
                                 [](const Entry& entry) { return entry.is_positional; });
  const bool takes_file =
      file != entries_.end() && (file->names == "MODEL" || file->names.starts_with("PLAN"));
  if (!takes_file || arguments.empty()) return;
  std::vector<std::string> schedules, counts;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    const std::string_view schedule = schedule_spelled(word.substr(0, word.find(',')));
    std::error_code error;
    if (!schedule.empty() && !std::filesystem::exists(word, error) && schedules.size() == i) {
      schedules.push_back(word.find(',') == std::string::npos ? std::string(schedule) : word);
    }
    const bool is_count = word == "-P" || word == "-M" || word == "-V";
    if (is_count && i + 1 < arguments.size()) counts.push_back(word + ' ' + arguments[i + 1]);
  }
  if (schedules.empty()) return;
  for (const char* needed : {"-P 4", "-M 8"}) {
    const std::string_view name(needed, 2);
    const bool is_typed = std::any_of(counts.begin(), counts.end(), [&](const std::string& count) {
      return count.starts_with(name);
    });
    if (!is_typed) counts.emplace_back(needed);
  }
  throw_bad_input(fmt::format(
      "'{}' is a schedule, and no file\nhelp: without a model: penstock schedule {} {} --cost "
      "F=10ms,I=10ms,W=10ms; of a model: penstock compare config.json ... --vary "
      "schedule=1f1b,zb-h1",
      arguments[0].substr(0, kLongestName), joined(schedules, ","), joined(counts, " ")));
}

void refuse_other_file(const std::string& usage, const Arguments& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  const std::string& path = arguments[0];
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::string verb = usage.substr(0, usage.find(' ')), takes = first_argument(usage),
                    format = format_of_file(path);
  // "validate train.log --plan plan.json": the right one is there as well.
  const bool has_plan = std::any_of(arguments.begin() + 1, arguments.end(), [](const auto& word) {
    return is_plan_format(format_of_file(word));
  });
  if (has_plan && takes == "PLAN") return;
  const bool is_other_file = format.empty() && !path.ends_with(".json") &&
                             !kind_of_text(path, "").words.empty() && verb != "profile";
  if (takes == "PLAN" && verb != "report" && verb != "trace" && !is_plan_format(format)) {
    static_cast<void>(load_plan_json(path));
  } else if (takes == "MODEL" && is_other_file) {
    static_cast<void>(load_json(path));
  } else if (verb == "compare" && is_plan_format(format)) {
    throw_bad_input(fmt::format(
        "{0}: this is a plan, and a model belongs here\nhelp: penstock plan config.json ... "
        "--baseline {0} compares it with the best plan of that model; penstock explain {0} says "
        "what would make it faster",
        path));
  }
}

void Options::refuse_leftovers(const Arguments& own) const {
  const std::vector<std::string> leftovers = parser_->app.remaining();
  if (leftovers.empty()) return;
  const auto option = std::find_if(leftovers.begin(), leftovers.end(),
                                   [](const std::string& text) { return text.starts_with('-'); });
  if (option != leftovers.end()) {
    refuse_option(*option, "leave it out: there is no such option");
  }
  const auto equals = std::find(own.begin(), own.end(), "=");
  if (equals != own.end() && equals != own.begin() && equals + 1 != own.end()) {
    throw_bad_input(
        fmt::format("'=' stands alone\nhelp: write {} {}", *(equals - 1), *(equals + 1)));
  }
  throw_bad_input(fmt::format("'{}' is one argument too many\nhelp: {}", leftovers[0],
                              help_for_surplus(own, leftovers[0])));
}

std::vector<std::string> Options::known_names() const {
  std::vector<std::string> known;
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr || entry.is_positional) continue;
    for (const std::string& name : parse_list("option", entry.names)) known.push_back(name);
  }
  return known;
}

}  // namespace penstock
