#include "cli/answers/words/value_of_flag.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/options/word_index.h"
#include "cli/words/is_among.h"

namespace penstock {
namespace {

bool is_unit(const std::string& word) {
  return is_among({"tokens",  "sequences", "samples", "gpus",   "GPUs", "hours", "hour", "h",
                   "days",    "day",       "minutes", "minute", "min",  "GiB",   "GB",   "MiB",
                   "dollars", "seconds",   "second",  "sec",    "s",    "ms",    "us",   "ns",
                   "percent", "%",         "GB/s",    "Gbit/s", "Gbps"},
                  word);
}

// "minutes" as "min", which can stand behind a number.
std::string short_unit(const std::string& unit) {
  if (unit.starts_with("min")) return "min";
  if (unit.starts_with("sec")) return "s";
  return unit.starts_with("hour") ? "h" : unit;
}

bool is_number(const std::string& word) {
  return word.find_first_not_of("0123456789.") == std::string::npos;
}

// "--json plan.json".
std::string help_for_json_file(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  if (!surplus.usage.starts_with("plan ") || !word.ends_with(".json")) {
    return fmt::format("--json takes no value and prints to stdout: --json > {}", word);
  }
  Arguments words = surplus.own;
  const auto at = std::find(words.begin(), words.end(), word);
  words.erase(at - 1, at + 1);
  words.insert(words.end(), {"-o", word});
  return fmt::format(
      "--json takes no value and prints to stdout (--json > {}); a plan file is written by -o: {}",
      word, whole_command("plan", words));
}

// "--resume ckpt": the help of the flag tells of the option that takes it.
std::string help_for_flag(const WordIndex& index, const std::string& flag,
                          const std::string& word) {
  std::vector<std::string> told;
  for (const OptionRow& row : index.rows()) {
    if (row.names.back() == flag) told = content_words(row.help);
  }
  for (const OptionRow& row : index.rows()) {
    const std::vector<std::string> name = content_words(row.names.back());
    const bool takes_word = !row.positional && (row.is_file() || row.value_name == "FOLDER");
    const bool is_told =
        !name.empty() && std::all_of(name.begin(), name.end(),
                                     [&](const auto& each) { return is_among(told, each); });
    if (!takes_word || !is_told || is_number(word)) continue;
    return fmt::format("{} takes no value; write {} {} {}", flag, row.names.back(), word, flag);
  }
  return fmt::format("{} takes no value: leave '{}' out", flag, word);
}

// "--budget 1 minute": `at` is the unit.
std::string help_for_unit_of(const OptionRow& row, Arguments::const_iterator at) {
  const bool has_unit = row.value_name == "TIME" || row.value_name == "RUN";
  return fmt::format("write {} {}{}: {}", *(at - 2), *(at - 1), has_unit ? short_unit(*at) : "",
                     row.help.substr(0, row.help.find(';')));
}

}  // namespace

std::string help_for_value_of_flag(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  const Arguments& own = surplus.own;
  const auto at = surplus.place();
  if (at == own.begin() || at == own.end()) return "";
  const std::string& before = *(at - 1);
  // Another file that exists is no place for output.
  const bool may_be_written = role_of(word) == FileRole::kPlan || !std::ifstream(word);
  if (before == "--json" && surplus.has("--json") && may_be_written) {
    return help_for_json_file(surplus);
  }
  if (looks_like_file(word)) return "";
  const bool is_unit_of_number =
      at - own.begin() > 1 && is_unit(word) &&
      before.find_first_not_of("0123456789.,kKMBGT") == std::string::npos;
  for (const OptionRow& row : surplus.asked.index().rows()) {
    if (row.positional) continue;
    if (!row.takes_value() && is_among(row.names, before)) {
      const std::string percent = before + "-percent";
      const std::string number = word.substr(0, word.find('%'));
      if (surplus.has(percent)) {
        return fmt::format("write {} {}", percent, is_number(number) ? number : "5");
      }
      return help_for_flag(surplus.asked.index(), before, word);
    }
    if (is_unit_of_number && is_among(row.names, *(at - 2))) return help_for_unit_of(row, at);
  }
  return "";
}

std::string help_for_unit(const SurplusWord& surplus) {
  if (!is_unit(surplus.word)) return "";
  const std::string help = help_for_value_of_flag(surplus);
  return help.empty() ? "leave out the unit, or write it and the number as one word" : help;
}

}  // namespace penstock
