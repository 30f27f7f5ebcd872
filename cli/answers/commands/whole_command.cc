#include "cli/answers/commands/whole_command.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/layout_as_pins.h"
#include "cli/answers/commands/typed_command.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "report/words.h"

namespace penstock {
namespace {

// The options that take values: of the table, and those that are typed with one under names which
// the table has not ("--gbs 512").
std::vector<std::vector<std::string>> names_with_values(const OptionTable& table,
                                                        const Arguments& words) {
  std::vector<std::vector<std::string>> names;
  Arguments known;
  for (const OptionRow& row : table.rows) {
    if (row.positional) continue;
    known.insert(known.end(), row.names.begin(), row.names.end());
    if (row.takes_value()) names.push_back(row.names);
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_option = words[i].starts_with('-') && words[i].find('=') == std::string::npos;
    const bool is_other = is_option && !is_among(known, words[i]);
    // "-tp 4", but "-x plan.json" may be a switch and the argument.
    const bool is_long = words[i].starts_with("--");
    if (is_other && (is_long ? !words[i + 1].starts_with('-') : is_digits(words[i + 1]))) {
      names.push_back({words[i]});
    }
  }
  return names;
}

// As the verb reads them. An option that it has not is no reason to read none: "--gbs 64 --wat".
Arguments read_words(std::string_view verb, const Arguments& words) {
  if (const auto read = read_by_verb(verb, words)) return *read;
  const bool has_file = !words.empty() && !words[0].starts_with('-');
  const auto taken = read_by_verb(verb, with_taken(verb, {has_file ? words[0] : ""}, words));
  return taken ? *taken : words;
}

}  // namespace

std::string whole_command(std::string_view verb, Arguments words) {
  std::erase(words, "");
  const Verb* found = find_verb(verb);
  const OptionTable table = found == nullptr ? OptionTable{} : options_of(*found);
  if (table.usage.empty()) return command_of(std::string(verb), words);
  Arguments read = read_words(verb, words);
  std::vector<std::vector<std::string>> valued = names_with_values(table, words);
  return TypedCommand{table.usage, std::move(words), std::move(valued), std::move(read)}.whole();
}

namespace {

// "--batch-size 128", which may be that of a GPU, too: of a search it is the step's, in samples.
// Only where no other batch is said.
Arguments with_batch_called(std::string_view verb, Arguments words) {
  if (verb != "plan" && verb != "compare" && verb != "predict") return words;
  constexpr std::array<std::string_view, 5> kOthers{"--global-batch", "--global-batch-tokens",
                                                    "--gbs", "--global-batch-size", "--vary"};
  const std::string_view name = verb == "predict" ? "--gbs" : "--global-batch";
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (is_among(kOthers, words[i].substr(0, words[i].find('=')))) return words;
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_batch = is_among({"--batch-size", "--batch", "--bs"}, words[i]);
    const bool is_number =
        !words[i + 1].empty() && words[i + 1].find_first_not_of("0123456789") == std::string::npos;
    if (is_batch && is_number) words[i] = name;
  }
  return words;
}

// In the options of the verb, where several of them, or the verb, say which are meant.
Arguments words_called(std::string_view verb, const Arguments& typed) {
  return with_layout_as_pins(verb, with_batch_called(verb, with_counts(verb, typed)));
}

}  // namespace

Arguments options_taken(std::string_view verb, const std::string& first, const Arguments& typed) {
  Arguments taken{first};
  const Arguments words = words_called(verb, typed);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with('-') || words[i].size() < 2) continue;
    const bool has_next = words[i].find('=') == std::string::npos && i + 1 < words.size() &&
                          !words[i + 1].starts_with('-');
    Arguments with_value = taken, alone = taken;
    alone.push_back(words[i]);
    with_value.push_back(words[i]);
    if (has_next) with_value.push_back(words[i + 1]);
    const bool takes_both = read_by_verb(verb, with_value).has_value();
    if (takes_both || read_by_verb(verb, alone)) taken = takes_both ? with_value : alone;
    i += has_next && takes_both ? 1 : 0;
  }
  return {taken.begin() + 1, taken.end()};
}

Arguments with_taken(std::string_view verb, Arguments files, const Arguments& words) {
  const Arguments taken = options_taken(verb, files.empty() ? "" : files[0], words);
  files.insert(files.end(), taken.begin(), taken.end());
  return files;
}

namespace {

// "sweep.csv" of "-o sweep.csv" or "--output=sweep.csv".
std::string table_typed(const Arguments& words) {
  const std::string output = value_of(words, {"-o", "--output"}).value_or("");
  return output.ends_with(".csv") ? output : "";
}

// "; it has no --limit 60GiB"
std::string remark_on_left(const std::vector<GivenOption>& left) {
  std::vector<std::string> shown;
  shown.reserve(left.size());
  for (const GivenOption& option : left) {
    shown.push_back(option.value.empty() ? option.name
                                         : option.name + ' ' + shell_word(option.value));
  }
  return shown.empty() ? "" : "; it has no " + joined(shown, ", ");
}

}  // namespace

std::string command_of_taken(std::string_view verb, const Arguments& files,
                             const Arguments& words) {
  const Arguments taken = options_taken(verb, files.empty() ? "" : files[0], words);
  Arguments all = files;
  std::vector<GivenOption> left;
  all.insert(all.end(), taken.begin(), taken.end());
  for (const GivenOption& option : given_words({}, words_called(verb, words)).options) {
    const bool is_taken = std::any_of(taken.begin(), taken.end(), [&](const std::string& word) {
      return word.substr(0, word.find('=')) == option.name;
    });
    if (!is_taken) left.push_back(option);
  }
  // A table of compare is printed, and kept by the shell: "sweep ... -o sweep.csv".
  const std::string table = table_typed(words);
  const auto is_output = [](const GivenOption& each) {
    return each.name == "-o" || each.name == "--output";
  };
  const bool is_written = std::any_of(left.begin(), left.end(), is_output);
  if (verb != "compare" || !is_written || table.empty()) {
    return whole_command(verb, all) + remark_on_left(left);
  }
  std::erase_if(left, is_output);
  all.insert(all.end(), {"--format", "csv"});
  return whole_command(verb, all) + " > " + table + remark_on_left(left);
}

}  // namespace penstock
