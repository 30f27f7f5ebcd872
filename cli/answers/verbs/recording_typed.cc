#include "cli/answers/verbs/recording_typed.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/files/typed_files.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/options/options_entry.h"
#include "cli/verbs/verbs.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "core/files/read_availability.h"
#include "core/values/error.h"

namespace penstock {

std::string command_of_recording(const Arguments& gpus, const std::string& file) {
  constexpr std::size_t kHour = 3600;
  std::string rows;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    rows += fmt::format("{},{}\\n", i * kHour, gpus[i]);
  }
  return fmt::format("printf 'time_s,gpus\\n{}{},{}\\n' > {}", rows, gpus.size() * kHour,
                     gpus.back(), shell_word(file));
}

Arguments course_in(const Arguments& words) {
  const auto typed = value_of(words, {"--gpus"});
  if (!typed) return {};
  Arguments gpus = parted_at_commas(*typed);
  const std::size_t dots = typed->find("..");
  if (dots != std::string::npos) {  // "16..8": what goes down is no range
    gpus = {typed->substr(0, dots), typed->substr(dots + 2)};
  }
  constexpr std::size_t kMostDigits = 6;
  const bool are_numbers = std::all_of(gpus.begin(), gpus.end(), [](const std::string& each) {
    return is_digits(each) && each.size() <= kMostDigits;
  });
  const auto is_less = [](const std::string& a, const std::string& b) {
    return std::stoi(a) < std::stoi(b);
  };
  if (!are_numbers || std::is_sorted(gpus.begin(), gpus.end(), is_less)) return {};
  return gpus;
}

std::string numbers_in(const Arguments& course) {
  std::set<int> numbers;
  for (const std::string& gpus : course) numbers.insert(std::stoi(gpus));
  numbers.erase(0);
  return fmt::format("{}", fmt::join(numbers, ","));
}

std::string range_of_recording(const std::string& path) {
  if (path.empty() || !is_there(path)) return "";
  constexpr int kPerNode = 8;
  try {
    const Availability recording = read_availability(load_text(path, ""), path);
    int least = 0, most = 0;
    bool are_nodes = true;
    for (const AvailabilityChange& change : recording.changes) {
      if (change.gpus == 0) continue;
      least = least == 0 ? change.gpus : std::min(least, change.gpus);
      most = std::max(most, change.gpus);
      are_nodes = are_nodes && change.gpus % kPerNode == 0;
    }
    if (most == 0) return "";
    if (least == most) return std::to_string(most);
    return fmt::format("{}..{}{}", least, most, are_nodes ? ":8" : "");
  } catch (const Error&) {
    return "";
  }
}

TypedTrace trace_in(const Arguments& words) {
  if (const auto named = value_of(words, {"--trace"})) return {*named, ""};
  const OptionTable table = options_of(*find_verb("morph"));
  const auto is_table = [](const std::string& word) { return word.ends_with(".csv"); };
  const GivenWords given = given_words(table, words);
  for (const GivenOption& option : given.options) {
    const bool is_others = row_named(table, option.name) == nullptr;
    if (is_others && is_table(option.value)) return {option.value, option.name};
    const bool is_named = is_among({"events", "event-file", "event-log", "recording", "trace-file",
                                    "availability", "spot-trace", "preemptions"},
                                   plain_name(option));
    const std::size_t dot = option.value.rfind('.');
    if (is_others && is_named && dot != std::string::npos) {
      return {option.value.substr(0, dot) + ".csv", option.name};  // it is none of JSON
    }
  }
  const auto bare = std::find_if(given.bare.begin(), given.bare.end(), is_table);
  return {bare == given.bare.end() ? "" : *bare, ""};
}

std::string remark_on_trace(const TypedTrace& trace, int gpus) {
  constexpr int kPerNode = 8;
  const int less = gpus > kPerNode ? gpus - kPerNode : std::max(1, gpus / 2);
  std::string remark;
  if (!trace.option.empty()) remark = fmt::format("; {} is called --trace here", trace.option);
  const std::string file = trace.file.empty() ? kTrace : trace.file;
  if (is_there(file)) return remark;
  return remark + fmt::format(
                      "; {} is not there yet, and says when how many GPUs are there: {} is {} of "
                      "them, {} an hour later, and the end after another one",
                      file,
                      command_of_recording({std::to_string(gpus), std::to_string(less)}, file),
                      gpus, less);
}

}  // namespace penstock
