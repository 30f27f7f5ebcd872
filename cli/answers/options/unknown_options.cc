// What to do about arguments that are left over, missing or given twice. Unknown options are read
// by option_readings.h, words without dashes by surplus_words.cc.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/options/option_aliases.h"
#include "cli/answers/options/option_readings.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/words/placed_words.h"
#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/plan_json.h"
#include "cli/io/shell_word.h"
#include "cli/options/options_entry.h"
#include "cli/words/device_facts.h"
#include "cli/words/is_digits.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/longest_name.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
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

namespace {

// Without all places where it stands, with its values.
Arguments without_option(Arguments own, const std::string& option) {
  for (auto at = own.begin(); at != own.end();) {
    const bool is_apart = *at == option && own.end() - at > 1;
    const bool is_it = is_apart || at->starts_with(option + '=');
    at = is_it ? own.erase(at, at + (is_apart ? 2 : 1)) : at + 1;
  }
  return own;
}

}  // namespace

// "penstock compare ... --vary gpus=8,16" of "plan ... --gpus 8 --gpus 16".
std::string Options::each_planned(const Arguments& typed, const std::string& option,
                                  const Arguments& instead) const {
  Arguments own = without_option(typed, option);
  own.insert(own.end(), instead.begin(), instead.end());
  return whole_command("compare", with_taken("compare", {own.front()}, own));
}

namespace {

// What makes the cluster file, of devices that have datasheets; else one to begin with.
std::string mixed_cluster_words(const Arguments& types, const Arguments& counts) {
  Arguments nodes;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (device_facts(types[i]).memory_gib <= 0.0) {
      return "--cluster FILE (data/clusters/a100-40gb-2x4-v100-16gb-4x4.json is one to copy)";
    }
    nodes.push_back(types[i] + ':' + (counts.size() == types.size() ? counts[i] : "8"));
  }
  return command_of("devices", {joined(nodes, ","), "--cluster-out", "mixed.json"}) +
         ", then --cluster mixed.json in place of --device";
}

}  // namespace

// "--device h100-sxm:32 --device a100-80gb:32" are both at once, without numbers each alone.
std::string Options::help_for_devices(const Arguments& own,
                                      const std::vector<std::string>& values) const {
  Arguments types, counts;
  for (const std::string& value : values) {
    const std::size_t mark = value.find_last_of(":=*x");
    const bool is_counted = mark != std::string::npos && is_digits(value.substr(mark + 1));
    types.push_back(is_counted ? value.substr(0, mark) : value);
    if (is_counted) counts.push_back(value.substr(mark + 1));
  }
  Arguments instead{"--vary", "device=" + joined(types, ",")};
  if (!counts.empty() && std::find(own.begin(), own.end(), "--gpus") == own.end()) {
    instead.insert(instead.end(), {"--gpus", counts.front()});
  }
  const std::string each = each_planned(own, "--device", instead);
  const std::string mixed = mixed_cluster_words(types, counts);

  return counts.empty() ? fmt::format(
                              "{} plans for each; GPUs of several types at once are a "
                              "cluster file: {}",
                              each, mixed)
                        : fmt::format(
                              "{} GPUs of these types at once are a cluster file with a kind "
                              "of node for each: {}; each type alone: {}",
                              joined(counts, " + "), mixed, each);
}

namespace {

// "h100-sxm=32", "32xh100", "a100:32".
bool counts_type(const std::string& value) {
  return value.find_first_of("=:xX*") != std::string::npos &&
         value.find_first_of("0123456789") != std::string::npos &&
         std::any_of(value.begin(), value.end(),
                     [](unsigned char c) { return std::isalpha(c) != 0 && c != 'x' && c != 'X'; });
}

}  // namespace

// "--gpus a100-40gb=8 --gpus v100-16gb=16": one list, of the types of a cluster file.
std::string Options::help_for_counted_types(const Arguments& own, const std::string& option,
                                            const std::vector<std::string>& values) const {
  const auto is_cluster = [](const std::string& word) {
    return word == "--cluster" || word.starts_with("--cluster=");
  };
  const bool has_cluster = std::any_of(own.begin(), own.end(), is_cluster);
  const bool are_pairs = std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return value.find('=') != std::string::npos;
  });
  if (!has_cluster) {
    return fmt::format(
        "{0} is one number, with --device; GPUs of several types at once are a cluster file with a "
        "kind of node for each: copy data/clusters/a100-40gb-2x4-v100-16gb-4x4.json, and write "
        "--cluster FILE {0} {1}",
        option, are_pairs ? joined(values, ",") : "TYPE=N,TYPE=N");
  }
  if (!are_pairs) return fmt::format("write them as one: {} TYPE=N,TYPE=N", option);
  Arguments words = without_option(own, option);
  words.insert(words.end(), {option, joined(values, ",")});
  return "write them as one: " + whole_command(usage_.substr(0, usage_.find(' ')), words);
}

// Two values of an option that takes one.
std::string Options::help_for_repeated(const Arguments& own, const std::string& names,
                                       const std::string& value_name,
                                       const std::vector<std::string>& values) const {
  const std::string name = parse_list("option", names).back();
  const bool are_equal =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  if (are_equal) return "keep one of them";
  if (value_name.find(",...") != std::string::npos || value_name == "LIST") {
    std::vector<std::string> words = values;
    for (std::string& word : words) {  // "--why-not fsdp"
      const bool has_keys = value_name.find('=') != std::string::npos;
      const std::string pair =
          has_keys && word.find('=') == std::string::npos ? pair_called(word) : "";
      if (!pair.empty()) word = pair;
    }
    return fmt::format("write them as one: {} {}", name, joined(words, ","));
  }
  const bool has_range = std::any_of(values.begin(), values.end(), [](const std::string& each) {
    return each.find("..") != std::string::npos;
  });
  if (has_range) return "keep one of them";
  const bool has_model = !own.empty() && !own.front().starts_with('-');
  if (name == "--device" && has("--gpus") && has_model) return help_for_devices(own, values);
  const bool is_counted = name == "--gpus" || name == "--nodes";
  if (name == "--cluster" && has("--gpus") && has_model) {
    const Arguments instead{"--vary", "cluster=" + joined(values, ",")};
    return fmt::format("keep one of them; {} plans for each", each_planned(own, name, instead));
  }
  if (is_counted && std::all_of(values.begin(), values.end(), counts_type)) {
    return help_for_counted_types(own, name, values);
  }
  if (name == "--gpus" || name == "--global-batch" || name == "--sequence-length") {
    const Arguments instead{"--vary", name.substr(2) + '=' + joined(values, ",")};
    return fmt::format("keep one of them; {} plans for each",
                       has_model && has("--gpus") ? each_planned(own, name, instead)
                                                  : "penstock compare ... " + joined(instead, " "));
  }
  return "keep one of them";
}

// ": penstock plan config.json --gpus 8 ..." where the values are the same.
std::string Options::command_once(const Arguments& own, const std::string& names,
                                  const std::vector<std::string>& values) const {
  const std::vector<std::string> called = parse_list("option", names);
  const auto is_it = [&called](const std::string& word) {
    return std::find(called.begin(), called.end(), word) != called.end();
  };
  const bool are_equal =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  Arguments words;
  bool is_there = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool is_again = is_it(own[i]) && is_there;
    is_there = is_there || is_it(own[i]);
    if (!is_again) words.push_back(own[i]);
    i += is_again ? 1 : 0;
  }
  const bool is_parted = is_there && words.size() + 2 * (values.size() - 1) == own.size();
  return are_equal && is_parted ? ": " + typed_command(words).whole() : "";
}

// "--devices 8 --gpus 8": the name of another tool, which was read as this option.
std::string Options::other_name_of(const std::string& names, const Arguments& typed) const {
  const std::vector<std::string> own = parse_list("option", names), known = known_names();
  const std::function<const WordIndex&()> make_index = [this]() -> const WordIndex& {
    return index();
  };
  for (std::size_t i = 0; i < typed.size(); ++i) {
    std::string name = typed[i].substr(0, typed[i].find('='));
    if (!name.starts_with('-') || has(name.c_str())) continue;
    const std::string value = i + 1 < typed.size() ? typed[i + 1] : "";
    const MeantOption meant = meant_option(name, value, known, remarks_, make_index);
    const bool is_it = std::find(own.begin(), own.end(), meant.words.front()) != own.end();
    if (is_it) return name;
  }
  return "";
}

std::string Options::help_for_value(const std::string& name) const {
  for (const Entry& entry : entries_) {
    const std::vector<std::string> names = parse_list("option", entry.names);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    return fmt::format("write {} {}: {}; if a shell variable stands in its place, it is empty",
                       name, entry.value_name, entry.help.substr(0, entry.help.find(". ")));
  }
  return fmt::format("usage: penstock {}", usage_);
}

bool Options::has(const char* name) const {
  const std::vector<std::string> known = known_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

// "plan 'config.json --gpus 64'": one word, where several were meant.
void Options::refuse_quoted(const Arguments& arguments) const {
  std::error_code error;
  if (arguments.empty() || arguments.front().find(" --") == std::string::npos) return;
  if (std::filesystem::exists(arguments.front(), error)) return;
  Arguments words;
  std::istringstream parts(arguments.front());
  for (std::string word; parts >> word;) words.push_back(word);
  words.insert(words.end(), arguments.begin() + 1, arguments.end());
  throw_bad_input("quotes make one word of the command\nhelp: leave them out: " +
                  command_of(usage_.substr(0, usage_.find(' ')), words));
}

TypedCommand Options::typed_command(const Arguments& own) const {
  TypedCommand command{usage_, own, {}};
  for (const Entry& entry : entries_) {
    const bool is_valued = entry.option != nullptr && !entry.is_positional && entry.flag == nullptr;
    if (is_valued) command.valued.push_back(parse_list("option", entry.names));
  }
  return command;
}

// An argument without a name that is not there, as a whole command that has it.
void Options::refuse_missing(const Arguments& own, const Entry& missing) const {
  constexpr std::size_t kFewChoices = 6, kLongestHelp = 320;  // the schedules are a page
  const std::string what =                                    // `report`, which takes a model, too
      missing.names == "MODEL" ? first_argument(usage_) : missing.names;
  const bool is_plan = what == "PLAN", is_model = what == "MODEL" || what == "CONFIG";
  std::error_code error;
  const bool is_here = (is_plan && std::filesystem::is_regular_file("plan.json", error)) ||
                       (is_model && std::filesystem::is_regular_file("config.json", error));
  const bool has_few = !missing.choices.empty() && missing.choices.size() <= kFewChoices;
  const std::string verb = usage_.substr(0, usage_.find(' '));
  Arguments first = missing.choices;
  if (first.size() > kFewChoices) first.resize(kFewChoices);
  const bool is_short = !missing.help.empty() && missing.help.size() <= kLongestHelp;
  const std::string how =
      is_here         ? "it comes first; here is one"
      : is_plan       ? "it comes first; penstock plan ... -o plan.json writes one"
      : is_model      ? "it comes first, the model's config.json; for example"
      : has_few       ? fmt::format("one of {}; for example", joined(missing.choices, ", "))
      : is_short      ? fmt::format("{}: {}; for example", what, missing.help)
      : first.empty() ? "for example"
                      : fmt::format("one of {} and those of penstock {} --help; for example",
                                    joined(first, ", "), verb);
  // Terraform's "validate" and "fmt -check" take nothing: whether files are in order.
  const char* other =
      verb == "validate" && own.empty()
          ? "; it compares a plan with the log of its run, and files alone are judged by penstock "
            "check FILE"
          : "";
  bad_option(what, "missing", fmt::format("{}: {}{}", how, typed_command(own).whole(), other));
}

namespace {

// Blanks as they are copied from a page, U+00A0 among them.
bool is_blank_at(const std::string& word, std::size_t at) {
  return at < word.size() && (word[at] == ' ' || word[at] == '\t' || word[at] == '\n' ||
                              word[at] == '\r' || word.compare(at, 2, "\u00a0") == 0);
}

Arguments parted_at_blanks(const std::string& word) {
  Arguments parts{""};
  for (std::size_t at = 0; at < word.size(); ++at) {
    if (!is_blank_at(word, at)) {
      parts.back() += word[at];
      continue;
    }
    if (word.compare(at, 2, "\u00a0") == 0) ++at;
    if (!parts.back().empty()) parts.emplace_back();
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

}  // namespace

// "plan config.json \ --cluster c.json" in one line: " --cluster" is one word, with its blank.
void Options::refuse_blank_options(const Arguments& arguments) const {
  Arguments words;
  std::string first;
  for (const std::string& word : arguments) {
    Arguments parts = parted_at_blanks(word);
    const bool begins_blank = is_blank_at(word, 0) && (parts.empty() || parts[0].starts_with('-'));
    const bool is_option = word.starts_with("--") && word.find('=') == std::string::npos;
    const bool holds_blank = is_option && parts.size() == 2 && word.find("\u00a0") != word.npos;
    if (!begins_blank && !holds_blank && word != "\\") {
      words.push_back(word);
      continue;
    }
    if (first.empty()) first = word;
    if (word != "\\") words.insert(words.end(), parts.begin(), parts.end());
  }
  if (first.empty()) return;
  const std::string verb = usage_.substr(0, usage_.find(' '));
  throw_bad_input(fmt::format(
      "{}\nhelp: leave {} out: {}",
      first == "\\" ? "'\\' is a word of its own: it continues a line only where nothing follows it"
                    : fmt::format("'{}' holds a blank, as a backslash before a blank makes one of "
                                  "lines that were copied into one",
                                  first.substr(0, kLongestName)),
      first == "\\" ? "it" : "backslashes and such blanks", command_of(verb, words)));
}

bool Options::takes_value(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&name](const Entry& entry) {
    if (entry.option == nullptr || entry.is_positional || entry.flag != nullptr) return false;
    const std::vector<std::string> names = parse_list("option", entry.names);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

// "compare h100 a100", "plan 64 h100": where a model belongs, GPUs are named or counted.
void Options::refuse_gpus(const Arguments& arguments) const {
  const std::string takes = first_argument(usage_);
  const bool takes_model = takes == "MODEL" || takes == "CONFIG";
  const auto is_named = [](const std::string& word) {
    std::error_code error;
    return (is_like_gpu(word) || is_digits(word)) && !std::filesystem::exists(word, error);
  };
  if (!takes_model || arguments.empty() || !is_named(arguments.front())) return;
  const auto end = std::find_if(arguments.begin(), arguments.end(),
                                [](const auto& word) { return word.starts_with('-'); });
  const std::vector<std::string> known = known_names();
  const std::function<const WordIndex&()> make_index = [this]() -> const WordIndex& {
    return index();
  };
  const auto options =
      words_as_options({arguments.begin(), end}, arguments, Asked{known, remarks_, make_index});
  if (!options) return;
  Arguments words{"config.json"};
  words.insert(words.end(), options->begin(), options->end());
  words.insert(words.end(), end, arguments.end());
  throw_bad_input(fmt::format("'{}' is no model\nhelp: the model comes first, for example {}",
                              arguments.front(),
                              command_of(usage_.substr(0, usage_.find(' ')), words)));
}

std::vector<std::string> Options::further_plans() const {
  std::vector<std::string> plans = parser_->app.remaining();
  std::erase_if(plans, [this](const std::string& word) {
    return further_plans_.empty() || !is_plan_format(format_of_file(word));
  });
  return plans;
}

// "--run -o both.tar": an option of the verb's own is no value.
void Options::refuse_missing_values(const Arguments& own) const {
  for (std::size_t i = 0; i < own.size() && own[i] != "--"; ++i) {
    if (!takes_value(own[i])) continue;
    if (i + 1 == own.size() || has(own[i + 1].c_str())) {
      bad_option(own[i], "needs a value", help_for_value(own[i]));
    }
    const std::string& value = own[i + 1];
    if (value.empty()) bad_option(own[i], "its value is empty", help_for_value(own[i]));
    const bool is_variable =
        value.size() > 1 && value[0] == '$' && !is_digits(value.substr(1, 1));  // "$2.50"
    if (is_variable) {
      bad_option(
          own[i], fmt::format("'{}' is a shell variable's name", value.substr(0, 60)),
          "single quotes keep the shell from its value: leave them out, or write double ones");
    }
    ++i;
  }
}

void Options::refuse_leftovers(const Arguments& own) const {
  const std::vector<std::string> plans = further_plans();
  std::vector<std::string> leftovers = parser_->app.remaining();
  std::erase_if(leftovers, [&plans](const std::string& word) {
    return std::find(plans.begin(), plans.end(), word) != plans.end();
  });
  if (leftovers.empty()) return;
  const auto option = std::find_if(leftovers.begin(), leftovers.end(),
                                   [](const std::string& text) { return text.starts_with('-'); });
  if (option != leftovers.end()) {
    const bool is_command = *option == "--" && option + 1 != leftovers.end();
    refuse_option(*option, is_command ? fmt::format("leave it out, and what follows: no command of "
                                                    "yours is run here ('{}')",
                                                    *(option + 1))
                                      : "leave it out: there is no such option");
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
