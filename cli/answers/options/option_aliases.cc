// Options of the verb itself always come first, so that no alias can hide one. What is read as
// another option is replaced; what has no option here is refused with what to do
// (option_readings.h).
#include "cli/answers/options/option_aliases.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/answers/commands/layout_as_pins.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/commands/words_instead.h"
#include "cli/answers/options/launch_counts.h"
#include "cli/answers/options/option_readings.h"
#include "cli/answers/options/option_remarks.h"
#include "cli/answers/options/unread_options.h"
#include "cli/answers/options/word_for_parts.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/longest_name.h"
#include "cli/words/parse.h"
#include "core/values/error.h"

namespace penstock {
namespace {

bool is_option(const std::string& argument) {
  const std::size_t first = argument.find_first_not_of('-');
  return argument.starts_with('-') && first != std::string::npos && first <= 2 &&
         (std::isalpha(static_cast<unsigned char>(argument[first])) != 0 ||
          (first == 2 && argument[first] != '=' &&
           argument.size() > first + 1));  // "--1f1b", and no negative number, no "--=5"
}

// "-out=x" and "-var a=b", as Terraform has them: a long name behind one dash, and no letter with
// its value.
bool is_long_name(const std::string& name, const Asked& asked) {
  constexpr std::size_t kShortest = 4;
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  };
  if (name.size() < kShortest || !std::all_of(name.begin(), name.end(), is_letter)) return false;
  const std::string full = '-' + name;
  if (asked.has(full)) return true;
  const auto reading = certain_reading(full, "", asked);
  if (reading && !reading->words.empty()) return true;
  if (!asked.index) return false;
  const std::vector<OptionRow>& rows = asked.index().rows();
  return std::any_of(name.begin() + 1, name.end(),
                     [&](char c) {
                       return !asked.has(std::string{'-', c});
                     }) &&
         std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
           return !row.takes_value() && row.names.front() == name.substr(0, 2);
         });
}

// As the parser of options reads it: by its name, or -P4, a letter and its value.
bool is_own(const std::string& argument, const Asked& asked) {
  const std::string name = argument.substr(0, argument.find('='));
  if (asked.has(name)) return true;
  if (argument.starts_with("--") || !asked.has(argument.substr(0, 2))) return false;
  return key_called(std::string_view(name).substr(1)).empty() && !is_long_name(name, asked);
}

const CountsMeant* group_of(const std::string& name, const std::vector<CountsMeant>& counts) {
  for (const CountsMeant& each : counts) {
    if (std::find(each.names.begin(), each.names.end(), name) != each.names.end()) return &each;
  }
  return nullptr;
}

}  // namespace

void refuse_option(const std::string& name, const std::string& help) {
  std::size_t most = std::min(name.size(), kLongestName);
  // Not inside a UTF-8 character.
  while (most > 0 && most < name.size() &&
         (static_cast<unsigned char>(name[most]) & 0xC0U) == 0x80U)
    --most;
  throw_bad_input(fmt::format("unknown option '{}'{}\nhelp: {}", name.substr(0, most),
                              name.size() > kLongestName ? "..." : "", help));
}

std::string help_by_parts(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view row = word_for_parts(word);
  if (row.empty()) return "";
  for (const Remark& remark : option_remarks()) {
    const bool is_said =
        remark.of.empty() || std::find(known.begin(), known.end(), remark.of) != known.end();
    if (is_said && std::find(remark.typed.begin(), remark.typed.end(), row) != remark.typed.end()) {
      return std::string(remark.help);
    }
  }
  return "";
}

MeantOption meant_option(const std::string& name, const std::string& value,
                         const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks,
                         const std::function<const WordIndex&()>& index) {
  const Asked asked{known, remarks, index};
  const Arguments typed{name, value};
  if (!is_option(name) || is_own(name, asked)) return {typed, ""};
  const auto reading = certain_reading(name, value, asked);
  if (!reading || reading->words.empty()) return {typed, reading ? reading->help : ""};
  MeantOption meant{reading->words, ""};
  const std::size_t equals = meant.words.back().find('=');  // "PP=N" rather than "P=N"
  if (equals != std::string::npos && meant.words.front() != name) {
    std::string& last = meant.words.back();
    last = field_word(last.substr(0, equals)) + last.substr(equals);
  }
  return meant;
}

namespace {

// `own`: the option of the verb that it is, "--pin" of "--tp".
std::string help_without_value(const std::string& name, const std::string& own,
                               const WordIndex& index) {
  const auto row = std::find_if(index.rows().begin(), index.rows().end(), [&](const auto& each) {
    return std::find(each.names.begin(), each.names.end(), own) != each.names.end();
  });
  const std::string key = key_called(name.substr(name.find_first_not_of('-')));
  const std::string number = key == "global-batch"      ? "512"
                             : key == "sequence-length" ? "4096"
                                                        : "2";
  constexpr const char* kEmpty = "; if a shell variable stands in its place, it is empty";
  if (name == own) {  // "-P"
    return name + option_shown(*row).substr(row->names.back().size()) + kEmpty;
  }
  if (key.empty()) return option_shown(*row);
  return fmt::format("the number behind it, for example {} {}", name, number);
}

// Whether the verb itself says what to do about it.
bool has_remark(const std::string& name, const Asked& asked) {
  const std::string word = plain_name(name);
  return std::any_of(asked.remarks.begin(), asked.remarks.end(),
                     [&word](const OptionRemark& remark) { return is_among(remark.typed, word); });
}

// The same for the verb that has what this one does not; nothing where this one knows what to say.
std::string command_of_another(const Arguments& arguments, const std::vector<UnreadOption>& unread,
                               const Asked& asked) {
  const bool has_model = asked.has("--pin") || asked.has("--layout") || asked.has("--cost");
  if (!has_model && arguments.front().starts_with('-')) {
    std::vector<std::pair<std::string, std::string>> options;
    options.reserve(unread.size());
    for (const UnreadOption& each : unread) options.emplace_back(each.name, each.value);
    if (std::string command = command_of_schedule(options); !command.empty()) return command;
  }
  Arguments names;
  for (const UnreadOption& each : unread) {
    const bool is_known = each.group != nullptr ||
                          (each.is_certain && each.help.find("penstock ") == std::string::npos);
    if (is_known) return "";
    names.push_back(each.name);
  }
  return command_of_able_verb(arguments, names, asked);
}

// "compare config.json --layout 'TP=8 gbs=256' --vary mbs=1,2": one layout is not what is asked.
std::string command_with_pins(const Arguments& arguments, const std::vector<UnreadOption>& unread,
                              const Asked& asked) {
  const bool is_layout = std::all_of(unread.begin(), unread.end(), [](const UnreadOption& each) {
    return each.name == "--layout";
  });
  if (!is_layout || !asked.index().usage().starts_with("compare ")) return "";
  return whole_command("compare", with_layout_as_pins("compare", arguments));
}

// "explain PP=8,DP=8 --why-not": pairs that stand before the option of pairs, in the command that
// is meant; empty where none do.
std::string command_with_value(const Arguments& words, const std::string& name,
                               const Asked& asked) {
  const std::vector<OptionRow>& rows = asked.index().rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&name](const OptionRow& each) {
    return std::find(each.names.begin(), each.names.end(), name) != each.names.end();
  });
  if (row == rows.end() || row->value_name.find('=') == std::string::npos) return "";
  std::error_code error;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool is_value = word != words.begin() && asked.index().takes_value(*(word - 1));
    const bool is_pair = !word->starts_with('-') && word->find('=') != std::string::npos &&
                         word->find('/') == std::string::npos;
    if (is_value || !is_pair || std::filesystem::exists(*word, error)) continue;
    Arguments meant = words;
    meant.erase(meant.begin() + (word - words.begin()));
    meant.insert(meant.end(), {name, *word});
    const std::string& usage = asked.index().usage();
    return whole_command(usage.substr(0, usage.find(' ')), meant);
  }
  return "";
}

// "schedule 1f1b,zb-h1 ... --csv": of a verb whose --csv writes something else.
std::string table_instead(Arguments words, const std::string& name, const Asked& asked) {
  if (name != "--csv" || !asked.has("--format")) return "";
  words.insert(words.end(), {"--format", "csv"});
  const std::string& usage = asked.index().usage();
  return "; a table of the figures is " + whole_command(usage.substr(0, usage.find(' ')), words);
}

// "--num-experts 8 --top-k 2": the experts of a token, and no number of plans.
bool counts_experts(const std::string& name, const Arguments& arguments) {
  const std::string word =
      plain_word(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  if (word != "top-k" && word != "topk") return false;
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& other) {
    const bool is_about =
        other.find("expert") != std::string::npos || other.find("moe") != std::string::npos;
    return other.starts_with("--") && is_about;
  });
}

}  // namespace

Arguments without_stray_signs(Arguments arguments) {
  const auto is_signed = [](const std::string& word) {
    return is_option(word) && word.size() > 3 && (word.ends_with(':') || word.ends_with(','));
  };
  const auto writes = [](const std::string& name) {
    return name == "-o" || name == "--output" || name == "--cluster-out";
  };
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  bool may_strip = true;  // of the word at hand; a name that is written may be any
  std::error_code error;
  for (auto word = arguments.begin(); word != end; ++word) {
    const bool is_name = is_option(*word), is_last = word + 1 == end || is_option(*(word + 1));
    const bool has_comma = !is_name && word->size() > 1 && word->ends_with(',') && is_last;
    const bool is_stray = (is_name && is_signed(*word)) || (has_comma && may_strip);
    if (is_stray && !std::filesystem::exists(*word, error)) word->pop_back();
    may_strip = !is_name || !writes(*word);
  }
  return arguments;
}

Arguments in_own_options(const Arguments& arguments, const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks,
                         const std::function<const WordIndex&()>& index) {
  const Asked asked{known, remarks, index};
  const std::vector<CountsMeant> counts =
      index ? counts_meant(arguments, asked) : std::vector<CountsMeant>();
  Arguments out;
  std::vector<UnreadOption> unread;
  std::vector<std::pair<std::string, std::string>> lacking;  // a value, and what to write
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const CountsMeant* group = is_option(argument) ? group_of(name, counts) : nullptr;
    const bool has_next =
        i + 1 < arguments.size() && !is_option(arguments[i + 1]) && arguments[i + 1] != "--";
    const bool is_lone = is_option(argument) && index &&
                         (equals == std::string::npos ? !has_next : equals + 1 == argument.size());
    if (group == nullptr && (!is_option(argument) || is_own(argument, asked))) {
      if (is_lone && asked.has(name) && index().takes_value(name)) {
        lacking.push_back({name, "write " + help_without_value(name, name, index())});
      } else {
        out.push_back(argument);
      }
      continue;
    }
    const std::string value = equals != std::string::npos ? argument.substr(equals + 1)
                              : has_next                  ? arguments[i + 1]
                                                          : std::string();
    const bool takes_next = !value.empty() && equals == std::string::npos;
    if (group != nullptr) {
      unread.push_back({name, value, group->help, out.size(), takes_next, group});
    } else if (const auto reading = certain_reading(
                   counts_experts(name, arguments) ? "--num-experts-per-tok" : name, value, asked);
               !reading && !index) {
      out.push_back(argument);
      continue;
    } else if (is_lone && reading && reading->words.size() == 1 &&
               index().takes_value(reading->words.front())) {
      lacking.push_back(
          {name, "write " + help_without_value(name, reading->words.front(), index())});
      continue;
    } else if (reading && !reading->words.empty()) {
      out.insert(out.end(), reading->words.begin(), reading->words.end());
      i += takes_next ? 1 : 0;
      continue;
    } else {
      unread.push_back(
          {name, value,
           help_where_on(reading ? reading->help : best_guess(name, value, asked), value),
           out.size(), takes_next, nullptr, reading.has_value()});
    }
    if (!index) refuse_option(name, unread.back().help);
    if (unread.size() >= kMostUnread) break;
    i += takes_next ? 1 : 0;
  }
  for (const auto& [name, help] : lacking) {
    if (unread.empty() && lacking.size() == 1) {
      const std::string command = command_with_value(out, name, asked);
      bad_option(name, "needs a value",
                 command.empty() ? help + table_instead(out, name, asked)
                                 : "its value comes behind it: " + command);
    }
    unread.push_back({name, "", "it needs a value: " + help, out.size(), false, nullptr});
  }
  if (!unread.empty()) {
    if (const std::string pinned = command_with_pins(arguments, unread, asked); !pinned.empty()) {
      refuse_option(unread.front().name,
                    "several plans are compared; its choices as pins: " + pinned);
    }
    const std::string other =
        has_remark(unread.front().name, asked) ? "" : command_of_another(arguments, unread, asked);
    if (!other.empty()) refuse_option(unread.front().name, "another verb takes it: " + other);
    refuse_options(unread, out, asked);
  }
  return out;
}

}  // namespace penstock
