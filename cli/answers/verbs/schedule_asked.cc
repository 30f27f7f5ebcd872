#include "cli/answers/verbs/schedule_asked.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/files/typed_files.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/option_spellings.h"
#include "cli/words/parted_at_commas.h"
#include "cli/words/schedule_called.h"
#include "cli/words/schedule_spelled.h"

namespace penstock {
namespace {

// What was typed, in the order of the command.
struct Wanted {
  Arguments names, sizes, options;
  std::map<char, std::string> costs;  // as they were typed, "1.0"
  bool is_drawn = false, is_printed = false;
};

// All of them, or none: "1f1b,zero-bubble", of a family its first member.
Arguments schedules_in(const std::string& list) {
  Arguments names;
  for (const std::string& part : parted_at_commas(list)) {
    std::string name(schedule_spelled(part));
    const std::vector<std::string> family = schedules_of_family(part);
    if (name.empty() && !family.empty()) name = family.front();
    const bool is_actions = part.ends_with(".csv") && is_there(part);
    if (name.empty() && is_actions) name = part;
    if (name.empty()) return {};
    names.push_back(name);
  }
  return names;
}

bool is_size(const std::string& value) {
  return !value.empty() && value.find_first_not_of("0123456789,") == std::string::npos;
}

// 'F' of "--fwd 1", 'C' of "--comm 0.05"; else '\0'.
char cost_called(const std::string& plain) {
  struct Row {
    char letter;
    std::initializer_list<std::string_view> names;
  };
  const Row rows[] = {
      {'F', {"fwd", "forward", "tf", "t-f", "forward-time", "fwd-time", "fwd-cost"}},
      {'B', {"bwd", "backward", "tb", "t-b", "backward-time", "bwd-time", "bwd-cost"}},
      {'I', {"bwd-input", "backward-input", "ti", "input-grad", "bwd-i", "dgrad"}},
      {'W', {"bwd-weight", "backward-weight", "tw", "weight-grad", "bwd-w", "wgrad"}},
      {'C',
       {"comm", "communication", "p2p", "transfer", "tc", "comm-cost", "comm-time", "send",
        "p2p-cost", "p2p-time", "communication-cost"}}};
  for (const Row& row : rows) {
    if (is_among(row.names, plain)) return row.letter;
  }
  return '\0';
}

// A number below 1000 with or without "ms".
bool is_cost(const std::string& value) {
  const std::string number = value.ends_with("ms") ? value.substr(0, value.size() - 2) : value;
  constexpr std::size_t kMostSigns = 8;
  return !number.empty() && number.size() <= kMostSigns && number.front() != '.' &&
         number.find_first_not_of("0123456789.") == std::string::npos &&
         std::count(number.begin(), number.end(), '.') <= 1;
}

// "pp", "num-microbatches" and "num-stages" as the letter of the option; else empty.
std::string letter_of(const std::string& plain) {
  for (const std::string& word : spellings_of(plain)) {
    const std::string key = key_called(word);
    if (key == "P" || key == "M" || key == "V") return "-" + key;
  }
  return "";
}

// "-P" of "--ranks", which is the verb's own name for it.
std::string letter_of(const OptionRow* row) {
  if (row == nullptr) return "";
  const auto letter = std::find_if(row->names.begin(), row->names.end(), [](const auto& name) {
    return is_among({"-P", "-M", "-V"}, name);
  });
  return letter == row->names.end() ? "" : *letter;
}

bool names_schedules(const std::string& plain) {
  const std::vector<std::string> spellings = spellings_of(plain);
  return std::any_of(spellings.begin(), spellings.end(), [](const std::string& word) {
    return is_among({"schedule", "pipeline-schedule", "name", "schedule-name", "algorithm"}, word);
  });
}

bool asks_for_text(const std::string& plain) {
  return is_among({"ascii", "ascii-art", "text", "tui", "print", "timeline", "show"}, plain);
}

bool asks_for_picture(const std::string& plain) {
  return is_among({"draw", "plot", "svg", "png", "picture", "figure", "fig", "image", "gantt",
                   "chart", "savefig", "render", "visualize"},
                  plain);
}

void take_option(const GivenOption& option, const OptionTable& table, Wanted& wanted) {
  const std::size_t dashes = option.name.find_first_not_of('-');
  if (dashes == std::string::npos) return;
  const std::string plain = plain_word(option.name.substr(dashes));
  const OptionRow* row = row_named(table, option.name);
  std::string letter = option.name.size() == 2 ? std::string(option.name) : letter_of(row);
  if (letter.empty()) letter = letter_of(plain);
  const bool is_letter = is_among({"-P", "-M", "-V"}, letter);
  if (is_letter && is_size(option.value)) {
    wanted.sizes.insert(wanted.sizes.end(), {letter, option.value});
    return;
  }
  if (names_schedules(plain)) {
    const Arguments names = schedules_in(option.value);
    wanted.names.insert(wanted.names.end(), names.begin(), names.end());
    return;
  }
  if (const char cost = cost_called(plain); cost != '\0' && is_cost(option.value)) {
    wanted.costs[cost] = option.value;
    return;
  }
  wanted.is_printed = wanted.is_printed || asks_for_text(plain);
  const Arguments behind = schedules_in(option.value);  // "--ascii 1f1b"
  if (asks_for_text(plain) || asks_for_picture(plain)) {
    wanted.names.insert(wanted.names.end(), behind.begin(), behind.end());
  }
  const bool is_picture = option.value.ends_with(".svg") || option.value.ends_with(".png");
  if (asks_for_picture(plain)) {
    wanted.is_drawn = true;
    if (is_picture) wanted.options.insert(wanted.options.end(), {"-o", option.value});
    return;
  }
  if (row == nullptr || option.name == "--print") return;
  if (option.name == "--csv" && option.value.empty()) {  // a table of the figures
    wanted.options.insert(wanted.options.end(), {"--format", "csv"});
    return;
  }
  wanted.options.push_back(option.name);
  if (row->takes_value() && !option.value.empty()) wanted.options.push_back(option.value);
}

Wanted wanted_in(const Arguments& words, const OptionTable& table) {
  Wanted wanted;
  const GivenWords given = given_words(table, words);
  for (const GivenOption& option : given.options) take_option(option, table, wanted);
  for (const std::string& word : given.bare) {
    const Arguments names = schedules_in(word);
    wanted.names.insert(wanted.names.end(), names.begin(), names.end());
  }
  return wanted;
}

// Degrees, batches and machines are those of a model.
bool is_about_model(const GivenOption& option) {
  const std::size_t dashes = option.name.find_first_not_of('-');
  if (dashes == std::string::npos || option.value.empty()) return false;
  const std::string plain = plain_word(option.name.substr(dashes));
  return is_among({"T", "D", "C", "EP", "ETP", "global-batch", "sequence-length"},
                  key_called(plain)) ||
         is_among({"device", "gpus", "num-gpus", "nodes", "cluster", "model", "tokens"}, plain);
}

bool is_about_other(const Arguments& words) {
  const TypedFiles files = typed_files(words);
  const std::vector<GivenOption> options = given_words({}, words).options;
  return !files.plans.empty() || !files.models.empty() || !files.clusters.empty() ||
         std::any_of(options.begin(), options.end(), is_about_model);
}

bool has_option(const Wanted& wanted, std::initializer_list<std::string_view> names) {
  return value_of(wanted.options, names).has_value();
}

// A picture is of one schedule with one size; several are a table.
void add_picture(Wanted& wanted) {
  const bool is_written = has_option(wanted, {"-o", "--output"});
  if (wanted.is_printed) {
    wanted.options.emplace_back("--print");
  } else if (wanted.is_drawn && !is_written) {
    wanted.options.insert(wanted.options.end(), {"-o", "schedule.svg"});
  }
}

// "F=10ms,I=10ms,W=10ms,C=0.5ms": what was typed, and the rest in its measure. A transfer alone is
// a part of the forward.
std::string costs_of(const Wanted& wanted) {
  std::map<char, std::string> costs = wanted.costs;
  const bool has_forward = costs.contains('F');
  const std::string forward = has_forward ? costs['F'] : "10ms";
  if (!has_forward && costs.contains('C') && costs['C'].starts_with("0.") &&
      !costs['C'].ends_with("ms")) {
    costs['C'] = fmt::format("{:g}ms", std::stod(costs['C']) * 10);
  }
  costs['F'] = forward;
  if (!costs.contains('B')) {
    costs.emplace('I', forward);
    costs.emplace('W', forward);
  } else if (costs.contains('I') || costs.contains('W')) {
    costs.erase('B');
    costs.emplace('I', forward);
    costs.emplace('W', forward);
  }
  std::string text;
  for (const char letter : {'F', 'B', 'I', 'W', 'C'}) {
    if (!costs.contains(letter)) continue;
    const std::string& value = costs[letter];
    text += fmt::format("{}{}={}{}", text.empty() ? "" : ",", letter, value,
                        value.ends_with("ms") ? "" : "ms");
  }
  return text;
}

void add_examples(Wanted& wanted) {
  const bool is_file = wanted.names.size() == 1 && wanted.names.front().ends_with(".csv");
  for (const auto& [letter, example] : {std::pair{"-P", "4"}, std::pair{"-M", "8"}}) {
    const bool is_typed = is_among(wanted.sizes, letter);
    if (!is_typed && !is_file) wanted.sizes.insert(wanted.sizes.end(), {letter, example});
  }
  if (!has_option(wanted, {"--cost", "--cost-file"})) {
    wanted.options.insert(wanted.options.begin(), {"--cost", costs_of(wanted)});
  }
}

std::string command_of_wanted(const Wanted& wanted, const std::string& names) {
  Arguments command{names};
  command.insert(command.end(), wanted.sizes.begin(), wanted.sizes.end());
  command.insert(command.end(), wanted.options.begin(), wanted.options.end());
  return command_of("schedule", command);
}

// A file for each.
std::string pictures_of(const Wanted& wanted) {
  std::vector<std::string> commands;
  for (const std::string& name : wanted.names) {
    Wanted one = wanted;
    if (!has_option(one, {"-o", "--output"})) {
      one.options.insert(one.options.end(), {"-o", name + ".svg"});
    }
    commands.push_back(command_of_wanted(one, name));
  }
  return fmt::format("{}", fmt::join(commands, "; then "));
}

}  // namespace

std::string schedule_asked(const Arguments& words, ScheduleView view) {
  if (is_about_other(words)) return "";
  const OptionTable table = options_of(*find_verb("schedule"));
  Wanted wanted = wanted_in(words, table);
  const bool has_sizes =
      view == ScheduleView::kFigures ? is_among(wanted.sizes, "-M") : !wanted.sizes.empty();
  if (wanted.names.empty() && !has_sizes) return "";
  wanted.is_drawn = wanted.is_drawn || view == ScheduleView::kPicture;
  if (wanted.names.empty() && view == ScheduleView::kBeside)
    wanted.names = {"gpipe", "1f1b", "zb-h1"};
  if (wanted.names.empty()) {
    wanted.names = {is_among(wanted.sizes, "-V") ? "interleaved" : "1f1b"};
  }
  add_examples(wanted);
  const bool has_list =
      std::any_of(wanted.sizes.begin(), wanted.sizes.end(),
                  [](const std::string& size) { return size.find(',') != std::string::npos; });
  if (wanted.names.size() == 1 && !has_list) add_picture(wanted);
  if (view == ScheduleView::kPicture && wanted.names.size() > 1 && !has_list) {
    return pictures_of(wanted);
  }
  return command_of_wanted(wanted, fmt::format("{}", fmt::join(wanted.names, ",")));
}

}  // namespace penstock
