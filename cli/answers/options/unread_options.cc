// A single option is answered by its sentence. Of several each has a line, but those that are
// misspelt only: their names are seen in the command.
#include "cli/answers/options/unread_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/command_meant.h"
#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/commands/words_instead.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/options/option_aliases.h"
#include "cli/answers/options/worked_out.h"
#include "cli/answers/verbs/asked_of_search.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"
#include "cli/words/longest_name.h"
#include "cli/words/near_files.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

// "config.json --profile profile.json": the file takes the place of the argument.
std::string with_other_model(const UnreadOption& option, const Arguments& read,
                             const Asked& asked) {
  constexpr std::array<std::string_view, 4> kNames{"--profile", "--model", "--config",
                                                   "--model-config"};
  std::error_code error;
  const bool is_named =
      is_among(kNames, option.name) && std::filesystem::is_regular_file(option.value, error);
  const bool has_first = begins_with_argument(read);
  const std::string& usage = asked.index().usage();
  if (!is_named || !has_first || usage.find(" MODEL ") == std::string::npos) return "";
  Arguments words = read;
  words.front() = option.value;
  return fmt::format("one model is given, without a name: {}",
                     command_of(usage.substr(0, usage.find(' ')), words));
}

// "validate plan.json --log train.log": the second argument without a name.
std::string with_run(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const bool has_first = begins_with_argument(read);
  const bool has_second = read.size() > 1 && !read[1].starts_with('-');
  if (!option.help.starts_with("RUN ") || option.value.empty() || !has_first || has_second)
    return "";
  Arguments words = read;
  words.insert(words.begin() + 1, option.value);
  const std::string& usage = asked.index().usage();
  return "RUN is the argument without a name: " +
         command_of(usage.substr(0, usage.find(' ')), words);
}

// "train.py --plan plan.json": what stands in the plan's place is no file of plans.
std::string with_other_plan(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const bool has_first = begins_with_argument(read);
  if (!has_first || !option.help.starts_with("PLAN ") || option.value.empty()) return "";
  const bool is_model = is_model_file(read.front()) && role_of(option.value) == FileRole::kPlan;
  const bool may_be_plan = read.front().ends_with(".json") || read.front().ends_with(".csv");
  if (may_be_plan && !is_model) return "";
  Arguments words = read;
  const std::string& usage = asked.index().usage();
  if (usage.starts_with("validate ")) {  // the log keeps its place behind the plan
    words.insert(words.begin(), option.value);
    return "the plan is the argument without a name: " + command_of("validate", words);
  }
  words.front() = option.value;
  return fmt::format("{} is no plan{}; the plan is the argument without a name: {}", read.front(),
                     is_model ? "" : ", and is not run",
                     whole_command(usage.substr(0, usage.find(' ')), words));
}

// The value, or the file of a model that lies with the program.
std::string file_named_by(const UnreadOption& option) {
  std::error_code error;
  const bool is_model = option.help.starts_with("MODEL ");
  const ShippedModels shipped = is_model && !std::filesystem::exists(option.value, error)
                                    ? shipped_models(option.value)
                                    : ShippedModels{};
  return shipped.is_it ? shipped.paths : option.value;
}

// "--model config.json": the argument without a name, if it is not there as well.
std::string with_command(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const std::size_t at = option.help.find(kNameless);
  if (std::string other = with_other_model(option, read, asked); !other.empty()) return other;
  if (std::string other = with_other_plan(option, read, asked); !other.empty()) return other;
  if (std::string command = with_run(option, read, asked); !command.empty()) return command;
  const bool has_first = begins_with_argument(read);
  if (at == std::string::npos || option.value.empty() || has_first) return option.help;
  const std::string& usage = asked.index().usage();
  Arguments words{file_named_by(option)};
  words.insert(words.end(), read.begin(), read.end());
  return option.help.substr(0, at + kNameless.size()) +
         command_of(usage.substr(0, usage.find(' ')), words);
}

// Of several options those that are called as the verb's arguments: the command with these in their
// places, and without the other options, each of which has an answer of its own.
void place_arguments(std::vector<UnreadOption>& unread, const Arguments& read, const Asked& asked) {
  const std::vector<const UnreadOption*> arguments = named_arguments(unread, read);
  Arguments words;
  for (const UnreadOption* argument : arguments) words.push_back(file_named_by(*argument));
  words.insert(words.end(), read.begin(), read.end());
  const std::string& usage = asked.index().usage();
  const std::string command = whole_command(usage.substr(0, usage.find(' ')), words);
  for (UnreadOption& each : unread) {
    const std::size_t at = each.help.find(kNameless);
    const bool is_it = std::find(arguments.begin(), arguments.end(), &each) != arguments.end();
    if (is_it) each.help = each.help.substr(0, at + kNameless.size()) + command;
    if (std::string with = with_run(each, read, asked); !with.empty()) each.help = with;
  }
}

// "--no-recompute --recompute full".
std::string given_as_well(const UnreadOption& option, const Arguments& read) {
  if (!option.help.starts_with(kWrite) || option.group != nullptr) return "";
  const std::size_t begin = kWrite.size() - 2;
  const std::string name = option.help.substr(begin, option.help.find(' ', begin) - begin);
  const auto found = std::find(read.begin(), read.end(), name);
  if (name == "--pin" || name == "--layout" || found == read.end() || found + 1 == read.end())
    return "";
  return fmt::format("; {} {} is given as well: keep one of them", name, *(found + 1));
}

std::string shown(const std::string& name) {
  return name.size() <= kLongestName ? name : name.substr(0, kLongestName) + "...";
}

// "--a, --b: what to do", a line for each answer.
std::string lines_of(const std::vector<UnreadOption>& unread) {
  constexpr std::size_t kMostLines = 6;
  std::vector<std::string> helps;
  for (const UnreadOption& each : unread) {
    if (!is_among(helps, each.help)) helps.push_back(each.help);
  }
  std::string out;
  for (std::size_t i = 0; i < helps.size() && i < kMostLines; ++i) {
    std::vector<std::string> names;
    for (const UnreadOption& each : unread) {
      if (each.help == helps[i]) names.push_back(shown(each.name));
    }
    out += fmt::format("\nhelp: {}: {}", joined(names, ", "), helps[i]);
  }
  if (helps.size() > kMostLines)
    out += fmt::format("\nhelp: and {} more", helps.size() - kMostLines);
  return out;
}

// Whether it says to write that option; a list of all options says nothing of it.
bool is_about(const std::string& help, std::string_view option) {
  return help.find(option) != std::string::npos && !help.starts_with("nothing here");
}

std::string asked_verb(const Asked& asked) {
  const std::string& usage = asked.index().usage();
  return usage.substr(0, usage.find(' '));
}

// What the usage of a search requires and nobody typed: told as well, so that it is not found out
// only by the next try.
std::string missing_beside(const std::vector<UnreadOption>& unread, const Arguments& meant,
                           const Arguments& read, const Asked& asked) {
  struct Needed {
    std::string_view option, example;
    std::array<std::string_view, 3> instead;
  };
  constexpr std::array kNeeded{Needed{"--device", "h100-sxm", {"--cluster"}},
                               Needed{"--gpus", "64", {"--cluster", "--nodes"}},
                               Needed{"--global-batch", "512", {"--global-batch-tokens"}},
                               Needed{"--lengths", kLengthsFile, {}},
                               Needed{"--layout", "'TP=2 PP=4 DP=1 mbs=1 gbs=64'", {}},
                               Needed{"--book", "book.json", {}},
                               Needed{"--trace", "trace.csv", {}},
                               Needed{"--runs", "runs.json", {}},
                               Needed{"--to", "megatron", {}},
                               Needed{"--data", "corpus.txt", {"--documents"}},
                               Needed{"--cloud", "aws", {}},
                               Needed{"--machine", "node3", {}}};
  // Behind "[" stands what may be left out.
  const std::string whole = asked.index().usage(), usage = whole.substr(0, whole.find('['));
  const bool has_first = begins_with_argument(read);
  if (has_first && !format_of_file(read.front()).empty()) return "";  // a profile has its own needs
  std::vector<std::string> names, words;
  for (const Needed& needed : kNeeded) {
    const auto is_typed = [&](std::string_view option) {
      return !option.empty() &&
             (std::find(read.begin(), read.end(), option) != read.end() ||
              std::any_of(read.begin(), read.end(),
                          [&](const std::string& word) {
                            return word.starts_with(std::string(option) + '=');
                          }) ||
              std::any_of(unread.begin(), unread.end(), [&](const UnreadOption& each) {
                return each.name == option || is_about(each.help, option);
              }));
    };
    if (usage.find(needed.option) == std::string::npos || is_typed(needed.option) ||
        std::any_of(needed.instead.begin(), needed.instead.end(), is_typed)) {
      continue;
    }
    names.emplace_back(needed.option);
    words.push_back(fmt::format("{} {}", needed.option, needed.example));
  }
  if (names.empty()) return "";
  if (!meant.empty()) {
    return fmt::format(
               "\nerror: {}: missing\nhelp: together, with examples for what is missing: {}",
               joined(names, ", "), whole_command(asked_verb(asked), meant)) +
           (is_among(names, "--lengths") ? remark_on_lengths(kLengthsFile) : "");
  }
  return fmt::format("\nerror: {}: missing\nhelp: add {}, for example {}", joined(names, ", "),
                     names.size() == 1 ? "it" : "them", joined(words, " "));
}

// "report plan.json --report_to wandb": without it something is missing still.
std::string completed(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const std::string& usage = asked.index().usage();
  const std::string verb = usage.substr(0, usage.find(' '));
  const bool has_first = begins_with_argument(read);
  const bool is_told =
      verb == "plan" || verb == "compare" || verb == "check" || verb == "calibrate";
  if (is_told || !has_first || !option.help.starts_with(kLeave)) return "";
  if (option.help.find("penstock ") != std::string::npos) return "";
  const std::string command = whole_command(verb, read);
  return command == command_of(verb, read) ? "" : ": " + command;
}

// "write --sharding fsdp:8 --pin DP=64": the whole command that this makes, to be pasted; empty
// where the help has one.
std::string whole_beside(const std::string& help, const std::string& command,
                         const Arguments& read) {
  const bool is_written = help.starts_with(kWrite) || help.starts_with("did you mean --");
  const bool is_partial =
      is_written && help.find("penstock ") == std::string::npos && !command.empty();
  // "-o train_config.toml": a trainer's file takes a command of its own.
  const std::string output = value_of(read, {"-o", "--output"}).value_or(".json");
  return is_partial && output.ends_with(".json") ? "\nhelp: together: " + command : "";
}

// "--max-steps 1000 --tokens 15T": the length of the training is given already.
std::string beside_tokens(const std::string& help, const Arguments& read) {
  const auto tokens = value_of(read, {"--tokens"});
  if (!tokens || help.find("--tokens N, the tokens of the whole") == std::string::npos) return help;
  return fmt::format("leave it out: --tokens {} says how long the training is", *tokens);
}

}  // namespace

void refuse_options(const std::vector<UnreadOption>& typed, const Arguments& read,
                    const Asked& asked) {
  std::vector<UnreadOption> unread = typed;
  Arguments worked;  // what numbers say together
  std::vector<UnreadOption> others;
  for (UnreadOption& each : unread) {
    each.help = beside_tokens(each.help, read);
    WorkedOut out = worked_out(each, typed, read, asked);
    if (out.help.empty()) {
      others.push_back(each);
      continue;
    }
    each.help = std::move(out.help);
    worked.insert(worked.end(), out.words.begin(), out.words.end());
  }
  std::vector<std::string> names;  // of those that nobody reads: "--nodes" is known by itself
  for (const UnreadOption& each : unread) {
    if (asked.has(each.name)) continue;
    const auto reading =
        each.group == nullptr ? std::nullopt : certain_reading(each.name, each.value, asked);
    if (reading && !reading->words.empty()) continue;
    if (!is_among(names, each.name)) names.push_back(each.name);
  }
  if (names.empty()) names.push_back(unread.front().name);
  const bool is_one = std::all_of(unread.begin(), unread.end(), [&](const UnreadOption& each) {
    return each.help == unread.front().help;
  });
  Arguments words = words_meant(others, read, asked);
  if (!words.empty()) words.insert(words.end(), worked.begin(), worked.end());
  std::string command = words.empty() ? "" : command_of(asked_verb(asked), words);
  const std::string missing = missing_beside(unread, words, read, asked);
  if (is_one && names.size() == 1) {
    std::string help = with_whole_layout(with_command(unread.front(), read, asked), read) +
                       given_as_well(unread.front(), read);
    if (help.starts_with("nothing here is called so") && missing.empty()) {
      help += "\nhelp: without it: " + command_of(asked_verb(asked), read);
    }
    refuse_option(names.front(),
                  help + (missing.empty() ? whole_beside(help, command, read) : missing) +
                      completed(unread.front(), read, asked));
  }
  std::vector<std::string> quoted;
  constexpr std::size_t kMostNames = 8;
  for (const std::string& name : names) {
    if (quoted.size() < kMostNames) quoted.push_back('\'' + shown(name) + '\'');
  }
  const bool are_misspelt = std::all_of(unread.begin(), unread.end(), [](const auto& each) {
    return each.help.starts_with(kMisspelt);
  });
  std::vector<UnreadOption> placed = unread;
  place_arguments(placed, read, asked);
  std::string help = is_one ? "\nhelp: " + unread.front().help : lines_of(placed);
  if (help.find(command) != std::string::npos) command.clear();
  if (are_misspelt && !command.empty()) {
    help = "\nhelp: write " + command;
  } else if (!command.empty() && !is_one) {
    help += "\nhelp: together: " + command;
  } else if (is_one) {
    help += whole_beside(unread.front().help, command, read);
  }
  throw_bad_input(fmt::format("unknown option{} {}{}{}{}", names.size() > 1 ? "s" : "",
                              joined(quoted, ", "), names.size() > kMostNames ? ", ..." : "", help,
                              missing));
}

}  // namespace penstock
