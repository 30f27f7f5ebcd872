// An option is dropped when neither its name nor its value stands anywhere in the answer: values
// are looked for as words begin, since "h100" is proposed as "h100-sxm" and "zbh1" as "zb-h1".
#include "cli/answers/commands/dropped_options.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/mended_command.h"
#include "cli/answers/commands/proposed_commands.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/is_among.h"
#include "cli/words/parted_at_commas.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::string_view kHelp = "\nhelp: ";

bool is_letter_or_digit(char sign) { return std::isalnum(static_cast<unsigned char>(sign)) != 0; }

// In small letters, without what joins the parts of a name.
std::string plain_text(std::string_view text) {
  std::string plain;
  for (const char sign : text) {
    if (sign == '-' || sign == '_' || sign == '"' || sign == '\'') continue;
    plain += static_cast<char>(std::tolower(static_cast<unsigned char>(sign)));
  }
  return plain;
}

// Whether a word of the text begins with it; a number is the whole word.
bool has_word(std::string_view text, std::string_view word) {
  const bool is_number = word.find_first_not_of("0123456789") == word.npos;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_letter_or_digit(text[at - 1]);
    const bool ends = end == text.size() || !is_letter_or_digit(text[end]);
    if (begins && (ends || !is_number)) return true;
  }
  return false;
}

// "--nodes 8 --gpus-per-node 8" is said as --gpus 64.
bool is_counted_anew(const std::string& name, const std::string& answer) {
  const bool is_count = name.find("node") != name.npos || name.find("gpu") != name.npos;
  return is_count &&
         (answer.find("--gpus ") != answer.npos || answer.find("--nodes ") != answer.npos);
}

// "--layout 'TP=8 gbs=64'" is said as --pin TP=8 --global-batch 64: each value counts.
bool has_values(std::string_view plain, std::string list) {
  std::replace(list.begin(), list.end(), ' ', ',');
  const Arguments pairs = parted_at_commas(list);
  return std::all_of(pairs.begin(), pairs.end(), [&](const std::string& pair) {
    return has_word(plain, plain_text(pair.substr(pair.find('=') + 1)));
  });
}

// "--zero-stage 3" is said as --sharding zero3, which is how the verb reads it.
bool is_read_so(const GivenOption& option, const std::string& verb, const std::string& answer) {
  const auto read = read_by_verb(verb, {"FILE", option.name, option.value});
  if (!read || read->size() < 2) return false;
  return std::all_of(read->begin() + 1, read->end(),
                     [&](const std::string& word) { return has_word(answer, word); });
}

bool is_said(const GivenOption& option, const std::string& verb, const std::string& answer,
             const std::string& plain) {
  if (!option.value.empty() && is_read_so(option, verb, answer)) return true;
  if (has_word(answer, option.name)) return true;
  if (is_counted_anew(option.name, answer)) return true;
  const std::string value = plain_text(option.value);
  if (value.empty()) return has_word(plain, plain_text(option.name));  // "--csv" as --format csv
  const bool is_list = option.value.find('=') != std::string::npos;
  return has_word(plain, value) || (is_list && has_values(plain, option.value));
}

std::vector<GivenOption> dropped_in(const std::string& message, const Arguments& typed) {
  const std::string plain = plain_text(message);
  std::vector<GivenOption> dropped;
  for (const GivenOption& option : given_words({}, typed).options) {
    if (!is_about_answer(option.name) && !is_said(option, typed.front(), message, plain))
      dropped.push_back(option);
  }
  return dropped;
}

// A command that may be run in place of the typed one: it has something of it. One that shows a
// part ("penstock plan ... --seq 4096") is none, nor is one that needs what another one makes.
struct Instead {
  Arguments words;
  std::size_t end = 0;  // in the message
  bool is_taken = false;
};

// Verbs that start something are never tried, and seem to take everything.
bool is_taken(Arguments words, const RefusalOf& refusal_of) {
  if (refusal_of(words)) return false;
  words.emplace_back("--no-such-option");
  return refusal_of(words).has_value();
}

std::vector<Instead> commands_instead(const std::string& message, const Arguments& typed,
                                      const RefusalOf& refusal_of) {
  constexpr std::size_t kMostTried = 2;
  std::vector<Instead> found;
  const auto is_typed = [&](const std::string& word) { return is_among(typed, word); };
  for (const ProposedCommand& each : proposed_commands(message)) {
    const std::size_t length = each.lengths.front();
    if (length < 3 || each.follows || found.size() == kMostTried) continue;
    const auto begin = each.words.begin(), end = begin + static_cast<std::ptrdiff_t>(length);
    if (std::none_of(begin + 1, end, is_typed)) continue;
    found.push_back({{begin, end}, each.ends[length - 1]});
    found.back().is_taken = is_taken(found.back().words, refusal_of);
  }
  return found;
}

std::string shown(const GivenOption& option) {
  return option.value.empty() ? option.name : option.name + ' ' + shell_word(option.value);
}

Arguments words_of(const GivenOption& option) {
  return option.value.empty() ? Arguments{option.name} : Arguments{option.name, option.value};
}

// Arguments behind the verb that look like files.
Arguments files_dropped(const std::string& message, const Arguments& typed) {
  Arguments dropped;
  const Arguments bare = given_words({}, typed).bare;
  for (std::size_t i = 1; i < bare.size(); ++i) {
    const std::size_t dot = bare[i].rfind('.');
    const bool is_file = dot != std::string::npos && dot > 0 && dot + 1 < bare[i].size() &&
                         bare[i].find_first_not_of("0123456789.") != std::string::npos;
    if (is_file && message.find(bare[i]) == message.npos) dropped.push_back(bare[i]);
  }
  return dropped;
}

// "penstock devices h100 --cluster-out cluster.json" for "plan config.json ... --no-nvlink": the
// command makes what the typed one is told of then, and stands in the place of none of its words.
bool makes_file_first(const std::string& message, const Instead& command, const Arguments& typed) {
  const auto is_kept = [&](const std::string& word) {
    return names_file(word) && is_among(command.words, word);
  };
  return message.starts_with("unknown option") &&
         std::any_of(typed.begin(), typed.end(), names_file) &&
         std::none_of(typed.begin(), typed.end(), is_kept);
}

// "write --jitter-percent 5" of the refusal of an option that the verb calls otherwise; empty where
// it says only that there is none.
std::string help_of(const std::string& refusal, const GivenOption& option) {
  if (!refusal.starts_with("unknown option '" + option.name) &&
      !refusal.starts_with(option.name + ": ")) {
    return "";
  }
  const std::size_t at = refusal.find(kHelp);
  if (at == refusal.npos) return "";
  const std::size_t begin = at + kHelp.size();
  const std::string help = refusal.substr(begin, refusal.find('\n', begin) - begin);
  const bool is_empty = help.starts_with("nothing here is called so") ||
                        help.starts_with("leave it out") || help.starts_with("did you mean");
  return is_empty ? "" : help;
}

// "--cost F=10ms,C=0.5ms" of a command that has --cost: it says it there.
bool names_option_of(const Arguments& words, const std::string& help) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word.starts_with("--") && help.find(word + ' ') != help.npos;
  });
}

// What another verb says of an option that this verb has would be no answer.
bool is_own(const GivenOption& option, const Arguments& typed) {
  const Verb* verb = typed.empty() ? nullptr : find_verb(typed.front());
  return verb != nullptr && row_named(options_of(*verb), option.name) != nullptr;
}

}  // namespace

std::string with_dropped_options(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of) {
  // What is compared is said by --vary, in another form than it was typed.
  for (const std::string_view other : {"with what else you typed", " --vary "}) {
    if (message.find(other) != message.npos) return message;
  }
  std::vector<Instead> commands = commands_instead(message, typed, refusal_of);
  if (commands.empty() || makes_file_first(message, commands.front(), typed)) return message;
  std::vector<std::string> left = files_dropped(message, typed);
  std::string helps;
  for (const GivenOption& option : dropped_in(message, typed)) {
    const auto with_option = [&](const Instead& command) {
      Arguments words = command.words;
      for (const std::string& word : words_of(option)) words.push_back(word);
      return words;
    };
    const auto able = std::find_if(commands.begin(), commands.end(), [&](const Instead& command) {
      return command.is_taken && !refusal_of(with_option(command));
    });
    if (able != commands.end()) {
      able->words = with_option(*able);
      const std::size_t end = able->end;
      const std::string kept = ' ' + shown(option);
      message.insert(able->end, kept);
      for (Instead& each : commands) each.end += each.end >= end ? kept.size() : 0;
      continue;
    }
    const std::string help =
        is_own(option, typed)
            ? ""
            : help_of(refusal_of(with_option(commands.front())).value_or(""), option);
    if (names_option_of(commands.front().words, help)) continue;
    if (help.empty()) left.push_back(shown(option));
    if (!help.empty()) helps += fmt::format("{}{}: {}", kHelp, option.name, help);
  }
  if (!left.empty()) message += fmt::format("{}left out above: {}", kHelp, joined(left, ", "));
  return message + helps;
}

}  // namespace penstock
