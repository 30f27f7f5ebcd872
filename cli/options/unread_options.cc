// A single option is answered by its sentence. Of several each has a line, but those that are
// misspelt only: their names are seen in the command.
#include "cli/options/unread_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/near_files.h"
#include "cli/io/shell_word.h"
#include "cli/options/field_words.h"
#include "cli/options/longest_name.h"
#include "cli/options/option_aliases.h"
#include "cli/options/whole_command.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::string_view kMisspelt = "did you mean '--", kWrite = "write --", kLeave = "leave it";

// Where what is to be written ends: the comma of "EP=8,ETP=1" and the colon of "fsdp:8" are in it.
std::size_t end_of_words(std::string_view help) {
  std::size_t end = help.size();
  for (const std::string_view mark : {", ", ": ", ";", " ("}) end = std::min(end, help.find(mark));
  return end;
}

// The words of the command that stand in a sentence, "--sharding zero3" of "write --sharding zero3,
// or ..", where they can be pasted: no placeholder and no choice.
std::optional<Arguments> words_written(std::string_view help) {
  help.remove_prefix(std::string_view("write ").size());
  const std::size_t end = end_of_words(help);
  const bool is_choice = help.find(" or ") != std::string_view::npos;
  Arguments words;
  for (std::size_t at = 0; at < end;) {
    const std::size_t blank = std::min(help.find(' ', at), end);
    const std::string word(help.substr(at, blank - at));
    const bool is_place = word.find("..") != std::string::npos ||
                          word.find('"') != std::string::npos ||
                          word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
    if (!word.empty() && is_place) return std::nullopt;
    const bool is_after = words.size() == 2 || (words.size() > 2 && words.size() % 2 == 0);
    if (is_after && !word.starts_with("--")) break;  // "for products of layers"
    if (!word.empty()) words.push_back(word);
    at = blank + 1;
  }
  if (is_choice || words.empty()) return std::nullopt;
  return words;
}

// Whether the words say what was typed: the value is one of them, or that of a lone pair, "mbs=2".
bool say_value(const Arguments& words, const std::string& value) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    const bool is_pair = word.find(',') == std::string::npos && word.ends_with('=' + value);
    return word == value || is_pair;
  });
}

bool is_on(const std::string& value) {
  const std::string word = plain_word(value);
  return value.empty() || word == "true" || word == "on" || word == "yes";
}

// "did you mean --to megatron?" and no more: the option that the value is of.
std::optional<Arguments> words_meant(std::string_view help, const std::string& value) {
  constexpr std::string_view kMeant = "did you mean ";
  const std::size_t blank = help.find(' ', kMeant.size());
  const bool is_one = help.starts_with("did you mean --") && help.ends_with('?') &&
                      blank != std::string_view::npos &&
                      help.find("; or ") == std::string_view::npos;
  if (!is_one || value.empty()) return std::nullopt;
  std::string_view word = help.substr(blank + 1, help.size() - blank - 2);
  if (word.size() > 1 && word.front() == '"') word = word.substr(1, word.size() - 2);
  if (word != value && word != plain_word(value)) return std::nullopt;
  return Arguments{std::string(help.substr(kMeant.size(), blank - kMeant.size())),
                   std::string(word)};
}

// What stands in its place in the command that is meant, its own value aside; nothing where nobody
// can say.
std::optional<Arguments> words_instead(const UnreadOption& option, const WordIndex& index) {
  if (option.group != nullptr) {
    if (option.group->words.empty()) return std::nullopt;
    return option.name == option.group->names.front() ? option.group->words : Arguments();
  }
  const std::string& help = option.help;
  if (help.starts_with(kMisspelt)) {
    const std::size_t begin = kMisspelt.size() - 2, end = help.find('\'', begin);
    Arguments words{help.substr(begin, end - begin)};
    const bool lacks_value =
        std::any_of(index.rows().begin(), index.rows().end(), [&](const OptionRow& row) {
          return row.takes_value() && row.names.back() == words.front() && option.value.empty();
        });
    if (lacks_value) return std::nullopt;
    if (!option.value.empty()) words.push_back(option.value);
    return words;
  }
  if (auto words = words_meant(help, option.value)) return words;
  if (help.starts_with(kLeave))
    return is_off(option.value) ? std::nullopt : std::optional(Arguments());
  return help.starts_with(kWrite) ? words_written(help) : std::nullopt;
}

// How many arguments without a name the verb takes, less those that were read; below 0 where there
// are too many.
int places_left(const Arguments& read, const WordIndex& index) {
  int places = 0;
  for (const OptionRow& row : index.rows()) places += row.positional ? 1 : 0;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i].starts_with('-')) {
      --places;
      continue;
    }
    const bool takes_next =
        std::any_of(index.rows().begin(), index.rows().end(), [&](const OptionRow& row) {
          return row.takes_value() &&
                 std::find(row.names.begin(), row.names.end(), read[i]) != row.names.end();
        });
    i += takes_next ? 1 : 0;
  }
  return places;
}

// "--no-cache config.json", "--zero-3 gpipe": whether the word behind it, which its own words do
// not say, is its value or the argument without a name.
enum class Behind { kValue, kArgument, kUnknown };
Behind behind(const UnreadOption& option, int places) {
  if (!option.takes_next || is_on(option.value)) return Behind::kValue;
  if (places <= 0) return Behind::kValue;
  std::error_code error;
  return std::filesystem::exists(option.value, error) ? Behind::kArgument : Behind::kUnknown;
}

// The words in its place, with the argument that stands behind it; `places`: see places_left().
std::optional<Arguments> words_with_argument(const UnreadOption& option, const WordIndex& index,
                                             int& places) {
  std::optional<Arguments> words = words_instead(option, index);
  const bool is_left = option.help.starts_with(kLeave),
             is_written = option.help.starts_with(kWrite);
  if (!words || option.group != nullptr || (!is_left && !is_written)) return words;
  if (is_written && (is_on(option.value) || say_value(*words, option.value))) return words;
  switch (behind(option, places)) {
    case Behind::kUnknown:
      return std::nullopt;
    case Behind::kArgument:
      words->push_back(option.value);
      --places;
      return words;
    case Behind::kValue:
      break;
  }
  return is_left ? words : std::nullopt;
}

// "--pin T=8", as it is kept, in the words of the field.
std::string in_field_word(const Arguments& read, std::size_t i) {
  const std::size_t equals = read[i].find('=');
  const bool is_pair = i > 0 && read[i - 1] == "--pin" && equals != std::string::npos &&
                       read[i].find(',') == std::string::npos;
  return is_pair ? field_word(read[i].substr(0, equals)) + read[i].substr(equals) : read[i];
}

// The pairs of all --layout: degrees that were typed as options of their own have one each.
std::string pairs_of_layout(const Arguments& words) {
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "--layout") pairs.push_back(words[i + 1]);
  }
  return joined(pairs, " ");
}

Arguments with_one_layout(const Arguments& words) {
  Arguments out;
  bool is_first = true;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--layout" || i + 1 == words.size()) {
      out.push_back(words[i]);
      continue;
    }
    if (is_first) out.insert(out.end(), {"--layout", pairs_of_layout(words)});
    is_first = false;
    ++i;
  }
  return out;
}

// "write --layout mbs=8, the micro-batch of one GPU" with what else the layout has.
std::string with_whole_layout(const std::string& help, const Arguments& read) {
  constexpr std::string_view kLayout = "write --layout ", kMore = "\"... ";
  const std::string pairs = pairs_of_layout(read);
  if (!help.starts_with(kLayout) || pairs.empty()) return help;
  const bool is_quoted = help.compare(kLayout.size(), kMore.size(), kMore) == 0;
  const std::size_t begin = kLayout.size() + (is_quoted ? kMore.size() : 0),
                    end = is_quoted ? help.find('"', begin) : end_of_words(help);
  return fmt::format("{}\"{} {}\"{}", kLayout, pairs, help.substr(begin, end - begin),
                     help.substr(is_quoted ? end + 1 : end));
}

constexpr std::string_view kNameless = " is the argument without a name: ";

// "-p plan.json -l train.log" among several, in the order of their places, where no argument is
// there as well.
std::vector<const UnreadOption*> named_arguments(const std::vector<UnreadOption>& unread,
                                                 const Arguments& read) {
  std::vector<const UnreadOption*> found;
  const bool has_first = !read.empty() && !read.front().starts_with('-');
  for (const std::string_view place : {"MODEL ", "CONFIG ", "PLAN ", "RUN "}) {
    for (const UnreadOption& each : unread) {
      const bool is_it = each.help.starts_with(place) && !each.value.empty() &&
                         each.help.find(kNameless) != std::string::npos;
      if (is_it && !has_first) found.push_back(&each);
    }
  }
  return found;
}

// The whole command; empty where one of the options has no words, or one would stand twice.
std::string command_meant(const std::vector<UnreadOption>& unread, const Arguments& read,
                          const Asked& asked) {
  if (unread.size() >= kMostUnread) return "";  // more may follow
  Arguments words;
  int places = places_left(read, asked.index());
  if (places < 0) return "";  // "manage start plan.json"
  std::set<std::string> names;
  const auto add = [&](const Arguments& some) {
    for (const std::string& word : some) {
      const bool may_repeat = word == "--pin" || word == "--layout";
      const bool is_new = !word.starts_with("--") || may_repeat || names.insert(word).second;
      if (!is_new) return false;
      words.push_back(word);
    }
    return true;
  };
  const std::vector<const UnreadOption*> arguments = named_arguments(unread, read);
  for (const UnreadOption* argument : arguments) words.push_back(argument->value);
  auto next = unread.begin();
  for (std::size_t i = 0; i <= read.size(); ++i) {
    for (; next != unread.end() && next->at == i; ++next) {
      if (std::find(arguments.begin(), arguments.end(), &*next) != arguments.end()) continue;
      const auto instead = words_with_argument(*next, asked.index(), places);
      if (!instead || !add(*instead)) return "";
    }
    if (i < read.size() && !add({in_field_word(read, i)})) return "";
  }
  const std::string& usage = asked.index().usage();
  return command_of(usage.substr(0, usage.find(' ')), with_one_layout(words));
}

// "config.json --profile profile.json": the file takes the place of the argument.
std::string with_other_model(const UnreadOption& option, const Arguments& read,
                             const Asked& asked) {
  constexpr std::array<std::string_view, 4> kNames{"--profile", "--model", "--config",
                                                   "--model-config"};
  std::error_code error;
  const bool is_named = std::find(kNames.begin(), kNames.end(), option.name) != kNames.end() &&
                        std::filesystem::is_regular_file(option.value, error);
  const bool has_first = !read.empty() && !read.front().starts_with('-');
  const std::string& usage = asked.index().usage();
  if (!is_named || !has_first || usage.find(" MODEL ") == std::string::npos) return "";
  Arguments words = read;
  words.front() = option.value;
  return fmt::format("one model is given, without a name: {}",
                     command_of(usage.substr(0, usage.find(' ')), words));
}

// "validate plan.json --log train.log": the second argument without a name.
std::string with_run(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const bool has_first = !read.empty() && !read.front().starts_with('-');
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
  const bool has_first = !read.empty() && !read.front().starts_with('-');
  if (!has_first || !option.help.starts_with("PLAN ") || option.value.empty()) return "";
  if (read.front().ends_with(".json") || read.front().ends_with(".csv")) return "";
  Arguments words = read;
  const std::string& usage = asked.index().usage();
  if (usage.starts_with("validate ")) {  // the log keeps its place behind the plan
    words.insert(words.begin(), option.value);
    return "the plan is the argument without a name: " + command_of("validate", words);
  }
  words.front() = option.value;
  return fmt::format("{} is no plan, and is not run; the plan is the argument without a name: {}",
                     read.front(), command_of(usage.substr(0, usage.find(' ')), words));
}

// "--model config.json": the argument without a name, if it is not there as well.
std::string with_command(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const std::size_t at = option.help.find(kNameless);
  if (std::string other = with_other_model(option, read, asked); !other.empty()) return other;
  if (std::string other = with_other_plan(option, read, asked); !other.empty()) return other;
  if (std::string command = with_run(option, read, asked); !command.empty()) return command;
  const bool has_first = !read.empty() && !read.front().starts_with('-');
  if (at == std::string::npos || option.value.empty() || has_first) return option.help;
  const std::string& usage = asked.index().usage();
  std::error_code error;
  const bool is_model = option.help.starts_with("MODEL ");
  const ShippedModels shipped = is_model && !std::filesystem::exists(option.value, error)
                                    ? shipped_models(option.value)
                                    : ShippedModels{};
  Arguments words{shipped.is_it ? shipped.paths : option.value};
  words.insert(words.end(), read.begin(), read.end());
  return option.help.substr(0, at + kNameless.size()) +
         command_of(usage.substr(0, usage.find(' ')), words);
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
    if (std::find(helps.begin(), helps.end(), each.help) == helps.end()) helps.push_back(each.help);
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

// What the usage of a search requires and nobody typed: told as well, so that it is not found out
// only by the next try.
std::string missing_beside(const std::vector<UnreadOption>& unread, const Arguments& read,
                           const Asked& asked) {
  struct Needed {
    std::string_view option, example;
    std::array<std::string_view, 3> instead;
  };
  constexpr std::array kNeeded{Needed{"--device", "h100-sxm", {"--cluster"}},
                               Needed{"--gpus", "64", {"--cluster", "--nodes"}},
                               Needed{"--global-batch", "512", {"--global-batch-tokens"}}};
  const std::string& usage = asked.index().usage();
  if (!usage.starts_with("plan ") && !usage.starts_with("compare ")) return "";
  const bool has_first = !read.empty() && !read.front().starts_with('-');
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
  return fmt::format("\nerror: {}: missing\nhelp: add {}, for example {}", joined(names, ", "),
                     names.size() == 1 ? "it" : "them", joined(words, " "));
}

// "report plan.json --report_to wandb": without it something is missing still.
std::string completed(const UnreadOption& option, const Arguments& read, const Asked& asked) {
  const std::string& usage = asked.index().usage();
  const std::string verb = usage.substr(0, usage.find(' '));
  const bool has_first = !read.empty() && !read.front().starts_with('-');
  const bool is_told =
      verb == "plan" || verb == "compare" || verb == "check" || verb == "calibrate";
  if (is_told || !has_first || !option.help.starts_with(kLeave)) return "";
  if (option.help.find("penstock ") != std::string::npos) return "";
  const std::string command = whole_command(verb, read);
  return command == command_of(verb, read) ? "" : ": " + command;
}

}  // namespace

bool is_off(const std::string& value) {
  const std::string word = plain_word(value);
  return word == "false" || word == "off" || word == "no" || word == "0";
}

std::string help_where_on(std::string help, const std::string& value) {
  if (!is_off(value) || !help.starts_with(kWrite)) return help;
  const auto words = words_written(help);
  if (words && say_value(*words, value)) return help;
  return "leave it out where it is off; where it is on, " + help;
}

void refuse_options(const std::vector<UnreadOption>& unread, const Arguments& read,
                    const Asked& asked) {
  std::vector<std::string> names;  // of those that nobody reads: "--nodes" is known by itself
  for (const UnreadOption& each : unread) {
    if (asked.has(each.name)) continue;
    const auto reading =
        each.group == nullptr ? std::nullopt : certain_reading(each.name, each.value, asked);
    if (reading && !reading->words.empty()) continue;
    if (std::find(names.begin(), names.end(), each.name) == names.end()) names.push_back(each.name);
  }
  if (names.empty()) names.push_back(unread.front().name);
  const bool is_one = std::all_of(unread.begin(), unread.end(), [&](const UnreadOption& each) {
    return each.help == unread.front().help;
  });
  if (is_one && names.size() == 1) {
    refuse_option(names.front(),
                  with_whole_layout(with_command(unread.front(), read, asked), read) +
                      given_as_well(unread.front(), read) + missing_beside(unread, read, asked) +
                      completed(unread.front(), read, asked));
  }
  std::vector<std::string> quoted;
  constexpr std::size_t kMostNames = 8;
  for (const std::string& name : names) {
    if (quoted.size() < kMostNames) quoted.push_back('\'' + shown(name) + '\'');
  }
  const std::string command = command_meant(unread, read, asked);
  const bool are_misspelt = std::all_of(unread.begin(), unread.end(), [](const auto& each) {
    return each.help.starts_with(kMisspelt);
  });
  std::string help = is_one ? "\nhelp: " + unread.front().help : lines_of(unread);
  if (are_misspelt && !command.empty()) {
    help = "\nhelp: write " + command;
  } else if (!command.empty() && !is_one) {
    help += "\nhelp: together: " + command;
  }
  throw_bad_input(fmt::format("unknown option{} {}{}{}{}", names.size() > 1 ? "s" : "",
                              joined(quoted, ", "), names.size() > kMostNames ? ", ..." : "", help,
                              missing_beside(unread, read, asked)));
}

}  // namespace penstock
