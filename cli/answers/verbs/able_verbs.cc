#include "cli/answers/verbs/able_verbs.h"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "cli/answers/commands/mended_command.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/options/launch_counts.h"
#include "cli/answers/options/option_remarks.h"
#include "cli/answers/verbs/verb_called.h"
#include "cli/answers/words/placed_words.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_digits.h"
#include "cli/words/option_spellings.h"
#include "cli/words/schedule_spelled.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

// "--recompute full or --recompute selective" as keys of --layout.
std::string as_keys(const std::string& words) {
  std::string out;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = words.find(' ', at);
    const bool is_option = words.compare(at, 2, "--") == 0 && end != std::string::npos;
    out += is_option ? words.substr(at + 2, end - at - 2) + '=' : std::string(1, words[at]);
    at = is_option ? end + 1 : at + 1;
  }
  return out;
}

// What another verb would say; that it is another one, unless its words name one.
std::string said_by(std::string_view verb, std::string_view help) {
  if (help.find("penstock ") != std::string_view::npos) return std::string(help);
  return fmt::format("with penstock {}: {}", verb, help);
}

// Whether a word behind it is its value; of an option by another name it is.
bool has_value(const WordIndex& index, const std::string& name) {
  return std::none_of(index.rows().begin(), index.rows().end(), [&name](const OptionRow& row) {
    return !row.takes_value() &&
           std::find(row.names.begin(), row.names.end(), name) != row.names.end();
  });
}

// Prices and failures are of no plan file; everything else that is asked is.
bool is_of_plan(const std::string& option, const WordIndex& index) {
  return std::none_of(index.rows().begin(), index.rows().end(), [&option](const OptionRow& row) {
    return row.heading.starts_with("Time and price") &&
           std::find(row.names.begin(), row.names.end(), option) != row.names.end();
  });
}

}  // namespace

std::string help_for_other_verb(const std::string& name) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<std::string> others = verbs_with_option(name);
  if (others.empty()) return "";
  const Arguments named(others.begin(),
                        others.begin() + std::min<std::ptrdiff_t>(kMostNamed, std::ssize(others)));
  const bool has_more = others.size() > kMostNamed;
  const WordIndex index(options_of(*find_verb(others.front())));
  const auto row = std::find_if(index.rows().begin(), index.rows().end(), [&](const auto& each) {
    return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  const std::string does = row == index.rows().end() ? "" : ": " + option_shown(*row);
  return fmt::format("leave it out here: {} is an option of penstock {}{}{}", name,
                     joined(named, ", "), has_more ? " and others" : "", does);
}

std::string help_of_plan(const std::string& name, const std::string& value,
                         const std::string& usage) {
  const WordIndex index(options_of(*find_verb("plan")));
  std::vector<std::string> known;
  for (const OptionRow& row : index.rows()) {
    const bool is_of_question = row.heading != "What to print" && row.heading != "The search";
    if (row.positional || !is_of_question) continue;
    known.insert(known.end(), row.names.begin(), row.names.end());
  }
  const bool is_given = !value.empty() && !value.starts_with('-');
  const MeantOption meant = meant_option(name, is_given ? value : "N", known, {},
                                         [&index]() -> const WordIndex& { return index; });
  constexpr std::string_view kWrite = "write ";
  constexpr std::array<std::string_view, 8> kLayout{
      "--pin",   "--recompute", "--sharding",        "--schedule",
      "--zero1", "--placement", "--sequence-length", "--global-batch"};
  const bool is_said = meant.help.empty() || meant.help.starts_with("write --") ||
                       meant.help.starts_with("which one?") ||
                       !key_called(name.substr(name.find_first_not_of('-'))).empty();
  if (!is_said) return "";
  if (std::find(known.begin(), known.end(), meant.words.front()) == known.end() &&
      meant.help.empty())
    return "";
  if (usage.starts_with("check ")) return "the launch file says it; what is wrong with it is found";
  if (!meant.help.empty() && !meant.help.starts_with(kWrite)) {
    return said_by("plan", meant.help);
  }
  if (usage.find(" PLAN") != std::string::npos && !name.starts_with("--")) {
    if (is_given && !is_digits(value)) return "";  // "-n prod"
    return "a plan file has it already; penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms "
           "replays a schedule without a plan";
  }
  const bool is_switch = meant.help.empty() && !has_value(index, meant.words.front());
  const std::string words = is_switch            ? meant.words.front()
                            : meant.help.empty() ? shell_words(meant.words)
                                                 : meant.help.substr(kWrite.size());
  const std::string option = words.substr(0, words.find(' '));
  // "--data corpus.txt" is no number of replicas.
  if (option == "--pin" && names_file(value)) return "";
  const bool is_of_layout = std::find(kLayout.begin(), kLayout.end(), option) != kLayout.end();
  if (usage.starts_with("predict ") && is_of_layout) {
    return "it belongs into --layout: " + as_keys(words);
  }
  return usage.find(" PLAN") == std::string::npos || !is_of_plan(option, index)
             ? fmt::format("penstock plan takes it: penstock plan ... {}", words)
             : fmt::format("the plan says it; another one is made by penstock plan ... {}", words);
}

std::string first_argument(const std::string& usage) {
  const std::size_t begin = usage.find(' ') + 1;
  return begin == 0 ? "" : usage.substr(begin, usage.find(' ', begin) - begin);
}

std::string help_of_verb(const std::string& plain, const std::string& usage) {
  std::vector<std::string> known;
  for (const Verb& each : verbs()) known.emplace_back(each.name);
  const std::string meant = verb_meant(plain, known);
  const Verb* verb = find_verb(meant);
  if (verb == nullptr || usage.starts_with(meant + ' ')) return "";
  const std::string takes = first_argument(options_of(*verb).usage), own = first_argument(usage);
  if (takes == "PLAN" && own == "PLAN") {
    return fmt::format("that is what another verb does: penstock {} plan.json", meant);
  }
  if (takes == "MODEL" && own == "MODEL") {
    return fmt::format("that is what another verb does: penstock {} config.json --help", meant);
  }
  if (takes != "PLAN" || !usage.starts_with("plan ")) return "";
  return fmt::format("write the plan with -o plan.json, then penstock {} plan.json", meant);
}

namespace {

bool takes(const Asked& verb, const std::string& name, const std::string& value, bool by_name) {
  if (verb.has(name)) return true;
  const auto reading = certain_reading(name, value, verb);
  if (!reading || reading->words.empty()) return false;
  const std::string& option = reading->words.front();
  return !by_name || (option != "--pin" && option != "--layout");
}

bool takes_all(const Asked& verb, const Arguments& arguments, const Arguments& unread,
               bool by_name) {
  std::size_t places = 0;
  for (const OptionRow& row : verb.index().rows()) places += row.positional ? 1U : 0U;
  const auto is_among = [](const Arguments& names, const std::string& word) {
    return std::find(names.begin(), names.end(), word.substr(0, word.find('='))) != names.end();
  };
  Arguments taken;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-') || argument.size() < 2) {
      if (places-- == 0) return false;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    // "--gpus -foo": what this verb could not read is no value.
    const bool has_next = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--") &&
                          !is_among(unread, arguments[i + 1]);
    const std::string value = equals != std::string::npos ? argument.substr(equals + 1)
                              : has_next                  ? arguments[i + 1]
                                                          : std::string();
    if (!takes(verb, name, value, by_name && is_among(unread, name))) return false;
    if (verb.has(name) && value.empty() && has_value(verb.index(), name)) return false;
    taken.push_back(name);
    i += equals == std::string::npos && has_next && has_value(verb.index(), name) ? 1U : 0U;
  }
  return std::all_of(unread.begin(), unread.end(),
                     [&](const std::string& name) { return is_among(taken, name); });
}

// Calls `use` with what a verb declares.
template <typename Use>
bool with_verb(const Verb& verb, const Use& use) {
  const WordIndex index(options_of(verb));
  std::vector<std::string> known;
  for (const OptionRow& row : index.rows()) {
    if (!row.positional) known.insert(known.end(), row.names.begin(), row.names.end());
  }
  const std::vector<OptionRemark> none;
  const std::function<const WordIndex&()> get = [&index]() -> const WordIndex& { return index; };
  return use(Asked{known, none, get});
}

}  // namespace

std::string command_of_able_verb(const Arguments& arguments, const Arguments& unread,
                                 const Asked& asked) {
  constexpr std::array<std::string_view, 4> kVerbs{"plan", "predict", "compare", "estimate"};
  const std::string& usage = asked.index().usage();
  const std::string own = usage.substr(0, usage.find(' '));
  if (std::find(kVerbs.begin(), kVerbs.end(), own) == kVerbs.end()) return "";
  // What the one writes is no plan.
  const bool writes = std::any_of(arguments.begin(), arguments.end(), [](const auto& word) {
    return word == "-o" || word == "--output";
  });
  if (own == "estimate" && writes) return "";
  // A degree by a name of the field is no sign of another verb where one can be said here.
  const bool by_name = asked.has("--pin") || asked.has("--layout");
  for (const Verb& verb : verbs()) {
    const bool is_other = verb.name == "plan" || verb.name == "predict" || verb.name == "compare";
    if (!is_other || verb.name == own) continue;
    const bool is_able = with_verb(
        verb, [&](const Asked& other) { return takes_all(other, arguments, unread, by_name); });
    if (is_able) return command_of(std::string(verb.name), arguments);
  }
  return "";
}

std::string command_of_schedule(const std::vector<std::pair<std::string, std::string>>& options) {
  Arguments words{""};
  for (const auto& [name, value] : options) {
    std::string key;
    for (const std::string& word :
         spellings_of(plain_word(name.substr(name.find_first_not_of('-'))))) {
      if (key.empty()) key = word == "schedule" ? word : key_called(word);
    }
    const std::string first = value.substr(0, value.find(','));
    if (key == "schedule" && !schedule_spelled(first).empty()) {
      words.front() = first == value ? std::string(schedule_spelled(value)) : value;
    } else if ((key == "P" || key == "M" || key == "V") && is_digits(first)) {
      words.insert(words.end(), {"-" + key, value});
    } else {
      return "";
    }
  }
  if (words.front().empty() || words.size() == 1) return "";
  for (const auto& [name, example] : {std::pair{"-P", "4"}, std::pair{"-M", "8"}}) {
    if (std::find(words.begin(), words.end(), name) == words.end()) {
      words.insert(words.end(), {name, example});
    }
  }
  words.insert(words.end(), {"--cost", "F=10ms,I=10ms,W=10ms"});
  return command_of("schedule", words);
}

bool verb_takes(std::string_view name, const Arguments& arguments) {
  const Verb* verb = find_verb(name);
  return verb != nullptr && with_verb(*verb, [&](const Asked& other) {
           return takes_all(other, arguments, {}, false);
         });
}

namespace {

// "-ox.json" and "--output=x.json" as "--output", "x.json".
Arguments with_long_names(const Arguments& own, const WordIndex& index) {
  Arguments out;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const bool is_short = !own[i].starts_with("--");
    const std::size_t equals = is_short ? std::string::npos : own[i].find('=');
    const std::string name = is_short ? own[i].substr(0, 2) : own[i].substr(0, equals);
    const auto row = std::find_if(index.rows().begin(), index.rows().end(), [&](const auto& each) {
      return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
    });
    if (!own[i].starts_with('-') || row == index.rows().end()) {
      out.push_back(own[i]);
      continue;
    }
    out.push_back(row->names.back());
    const std::size_t behind = equals == std::string::npos ? name.size() : equals + 1;
    if (equals != std::string::npos || behind < own[i].size()) {
      out.push_back(own[i].substr(behind));
    } else if (row->takes_value() && i + 1 < own.size()) {
      out.push_back(own[++i]);
    }
  }
  return out;
}

}  // namespace

std::optional<Arguments> read_by_verb(std::string_view name, const Arguments& arguments) {
  const Verb* verb = find_verb(name);
  std::optional<Arguments> read;
  if (verb == nullptr) return read;
  with_verb(*verb, [&](const Asked& asked) {
    if (!takes_all(asked, arguments, {}, false)) return false;
    try {
      const Arguments own = in_own_options(arguments, asked.known, asked.remarks, asked.index);
      read = with_long_names(own, asked.index());
    } catch (const Error&) {  // nodes and GPUs of a node, that only together say something
    }
    return read.has_value();
  });
  return read;
}

Arguments with_counts(std::string_view name, const Arguments& words) {
  const Verb* verb = find_verb(name);
  if (verb == nullptr) return words;
  Arguments out;
  with_verb(*verb, [&](const Asked& asked) {
    const std::vector<CountsMeant> counts = counts_meant(words, asked);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string option = words[i].substr(0, words[i].find('='));
      const auto group = std::find_if(counts.begin(), counts.end(), [&](const CountsMeant& each) {
        return !each.words.empty() &&
               std::find(each.names.begin(), each.names.end(), option) != each.names.end();
      });
      if (group == counts.end()) {
        out.push_back(words[i]);
        continue;
      }
      if (option == group->names.front()) {
        out.insert(out.end(), group->words.begin(), group->words.end());
      }
      const bool has_next = words[i].find('=') == std::string::npos && i + 1 < words.size();
      i += has_next ? 1 : 0;
    }
    return true;
  });
  return out;
}

std::string placed_command(std::string_view name, const Arguments& arguments) {
  const Verb* verb = find_verb(name);
  if (verb == nullptr || arguments.empty() || arguments.front().starts_with('-')) return "";
  std::string command;
  with_verb(*verb, [&](const Asked& asked) {
    Arguments kept{arguments.front()}, words;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const bool is_option = arguments[i].starts_with('-');
      (is_option ? kept : words).push_back(arguments[i]);
      const bool has_next = i + 1 < arguments.size() && !arguments[i + 1].starts_with("--");
      const bool is_value = is_option && arguments[i].find('=') == std::string::npos && has_next &&
                            has_value(asked.index(), arguments[i]);
      if (is_value) kept.push_back(arguments[++i]);
    }
    const auto options = words_as_options(words, kept, asked);
    if (!options || !takes_all(asked, kept, {}, false)) return false;
    kept.insert(kept.end(), options->begin(), options->end());
    command = "write " + whole_command(name, kept);
    return true;
  });
  return command;
}

std::string help_of_able_verb(const std::string& plain, const Asked& asked) {
  const std::string own = first_argument(asked.index().usage());
  if (own != "PLAN" && own != "MODEL") return "";
  const std::vector<std::string> spellings = spellings_of(plain);
  for (const std::string& word : spellings) {
    for (const Remark& remark : option_remarks()) {
      const bool is_of_it = !remark.of.empty() && !asked.has(remark.of) &&
                            remark.help.find(remark.of) != std::string_view::npos;
      if (!is_of_it ||
          std::find(remark.typed.begin(), remark.typed.end(), word) == remark.typed.end()) {
        continue;
      }
      const std::vector<std::string> able = verbs_with_option(std::string(remark.of));
      if (able.empty() || able[0] == "schedule") continue;  // which has no model
      return said_by(able[0], remark.help);
    }
  }
  return "";
}

}  // namespace penstock
