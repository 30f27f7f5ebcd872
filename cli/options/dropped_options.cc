// An option is dropped when neither its name nor its value stands anywhere in the answer: values
// are looked for as words begin, since "h100" is proposed as "h100-sxm" and "zbh1" as "zb-h1".
#include "cli/options/dropped_options.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/shell_word.h"
#include "cli/options/given_options.h"
#include "cli/options/is_among.h"
#include "cli/options/proposed_commands.h"
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

// What is asked of the answer, and no part of the question.
bool is_about_answer(const std::string& name) {
  return is_among({"-v", "-q", "--verbose", "--quiet", "--json", "--help", "-h", "--debug"}, name);
}

// "--nodes 8 --gpus-per-node 8" is said as --gpus 64.
bool is_counted_anew(const std::string& name, const std::string& answer) {
  const bool is_count = name.find("node") != name.npos || name.find("gpu") != name.npos;
  return is_count &&
         (answer.find("--gpus ") != answer.npos || answer.find("--nodes ") != answer.npos);
}

bool is_said(const GivenOption& option, const std::string& answer, const std::string& plain) {
  if (has_word(answer, option.name)) return true;
  if (is_counted_anew(option.name, answer)) return true;
  const std::string value = plain_text(option.value);
  return !value.empty() && has_word(plain, value);
}

std::vector<GivenOption> dropped_in(const std::string& message, const Arguments& typed) {
  const std::string plain = plain_text(message);
  std::vector<GivenOption> dropped;
  for (const GivenOption& option : given_words({}, typed).options) {
    if (!is_about_answer(option.name) && !is_said(option, message, plain))
      dropped.push_back(option);
  }
  return dropped;
}

// The command that is to be run in place of the typed one: it has something of it. One that shows a
// part ("penstock plan ... --seq 4096") is none, nor is one that others follow or go before.
const ProposedCommand* command_instead(const std::vector<ProposedCommand>& commands,
                                       const Arguments& typed) {
  if (commands.size() != 1 || commands.front().words.size() < 3) return nullptr;
  const ProposedCommand& only = commands.front();
  const auto is_typed = [&](const std::string& word) { return is_among(typed, word); };
  return std::any_of(only.words.begin() + 1, only.words.end(), is_typed) ? &only : nullptr;
}

std::string shown(const GivenOption& option) {
  return option.value.empty() ? option.name : option.name + ' ' + shell_word(option.value);
}

Arguments words_of(const GivenOption& option) {
  return option.value.empty() ? Arguments{option.name} : Arguments{option.name, option.value};
}

// Verbs that start something are never tried, and seem to take everything.
bool is_tried(Arguments words, const RefusalOf& refusal_of) {
  words.emplace_back("--no-such-option");
  return refusal_of(words).has_value();
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

}  // namespace

std::string with_dropped_options(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of) {
  const std::vector<ProposedCommand> commands = proposed_commands(message);
  const ProposedCommand* command = command_instead(commands, typed);
  if (command == nullptr || message.find("with what else you typed") != message.npos)
    return message;
  const std::size_t length = command->lengths.front();
  Arguments words(command->words.begin(),
                  command->words.begin() + static_cast<std::ptrdiff_t>(length));
  const bool is_taken = !refusal_of(words) && is_tried(words, refusal_of);
  std::vector<std::string> left = files_dropped(message, typed);
  std::string helps, kept;
  for (const GivenOption& option : dropped_in(message, typed)) {
    Arguments with = words;
    for (const std::string& word : words_of(option)) with.push_back(word);
    const auto refusal = refusal_of(with);
    if (is_taken && !refusal) {
      words = with;
      kept += ' ' + shown(option);
      continue;
    }
    const std::string help = refusal ? help_of(*refusal, option) : "";
    if (help.empty()) left.push_back(shown(option));
    if (!help.empty()) helps += fmt::format("{}{}: {}", kHelp, option.name, help);
  }
  message.insert(command->ends[length - 1], kept);
  if (!left.empty()) {
    message += fmt::format("{}left out of that command: {}", kHelp, joined(left, ", "));
  }
  return message + helps;
}

}  // namespace penstock
