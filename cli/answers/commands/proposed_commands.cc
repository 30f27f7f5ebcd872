// A command ends where its sentence does: at ';', at a ')' that it did not open, at the end of the
// line, or at a word that ends in a comma or a colon. Words are cut as a shell cuts them.
#include "cli/answers/commands/proposed_commands.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

namespace penstock {
namespace {

constexpr std::string_view kName = "penstock ";

struct Word {
  std::string text;
  std::size_t end = 0;     // in the text
  bool is_quoted = false;  // at least a part of it
  bool is_last = false;    // of the command
};

bool is_blank(char sign) { return sign == ' ' || sign == '\n'; }

// The word that begins at `at`; nothing where a quote is left open.
std::optional<Word> word_at(std::string_view text, std::size_t at) {
  Word word;
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char sign = text[at];
    if (quote != '\0') {
      if (sign == '\n') return std::nullopt;
      if (sign == quote)
        quote = '\0';
      else
        word.text += sign;
      continue;
    }
    if (is_blank(sign) || sign == ';' || sign == ')') break;
    if (sign == '"' || sign == '\'') {
      quote = sign;
      word.is_quoted = true;
    } else {
      word.text += sign;
    }
  }
  if (quote != '\0') return std::nullopt;
  word.is_last = at >= text.size() || text[at] != ' ';
  word.end = at;
  while (!word.is_quoted && !word.text.empty() &&
         (word.text.back() == ',' || word.text.back() == ':')) {
    word.text.pop_back();
    --word.end;
    word.is_last = true;
  }
  return word;
}

std::vector<std::size_t> places_of_name(std::string_view text) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(kName); at != std::string_view::npos;
       at = text.find(kName, at + 1)) {
    const bool is_word = at == 0 || is_blank(text[at - 1]) || text[at - 1] == '(';
    if (is_word) places.push_back(at);
  }
  return places;
}

bool is_upper(char sign) { return std::isupper(static_cast<unsigned char>(sign)) != 0; }

}  // namespace

bool has_place(std::string_view word) {
  if (word.find_first_of("{<|") != std::string_view::npos || word == "list") return true;
  const bool lacks_value = word.find("...") != std::string_view::npos || word.ends_with("..") ||
                           word.find("=..") != std::string_view::npos;
  if (lacks_value) return true;
  const std::string_view value = word.substr(word.rfind('=') + 1);
  return !value.empty() && is_upper(value.front()) &&
         std::all_of(value.begin(), value.end(), [](char sign) {
           return is_upper(sign) || sign == ',' || sign == '_' || sign == '-';
         });
}

namespace {

// What the shell takes for itself, "> table.csv", and a remark in parentheses.
bool ends_command(std::string_view word) {
  return std::string_view(">|&(").find(word.front()) != std::string_view::npos;
}

// "draws", "and", "of": as words of a sentence are, not of a command.
bool may_be_prose(const Word& word) {
  return !word.is_quoted && std::all_of(word.text.begin(), word.text.end(), [](char sign) {
    return std::islower(static_cast<unsigned char>(sign)) != 0;
  });
}

// Whether a word that looks like prose may be an argument: behind an option, and of a verb whose
// first argument is a word.
bool takes_word(const Arguments& words) {
  if (words.size() == 1) return words[0] == "schedule" || words[0] == "import";
  return words.back().starts_with('-') && words.back().find('=') == std::string::npos;
}

std::optional<ProposedCommand> command_at(std::string_view text, std::size_t begin) {
  ProposedCommand command;
  command.begin = begin;
  for (std::size_t at = begin + kName.size(); at < text.size();) {
    const auto word = word_at(text, at);
    if (!word || word->text.empty() || ends_command(word->text)) break;
    if (has_place(word->text)) return std::nullopt;
    if (!command.words.empty() && !takes_word(command.words) && may_be_prose(*word)) {
      command.lengths.push_back(command.words.size());
    }
    command.words.push_back(word->text);
    command.ends.push_back(word->end);
    if (word->is_last) break;
    at = word->end + 1;
  }
  if (command.words.empty()) return std::nullopt;
  command.lengths.push_back(command.words.size());
  return command;
}

constexpr std::string_view kDots = "...";

// Behind the dots stand options and their values, and then prose.
std::optional<OpenCommand> open_command_at(std::string_view text, std::size_t begin) {
  OpenCommand command{begin, begin, {}};
  bool is_open = false;
  for (std::size_t at = begin + kName.size(); at < text.size();) {
    const auto word = word_at(text, at);
    if (!word || word->text.empty() || ends_command(word->text)) break;
    const bool is_dots = word->text == kDots;
    const bool is_option = word->text.starts_with('-');
    const bool is_value = !command.words.empty() && command.words.back().starts_with('-');
    const bool is_prose = is_open && !is_option && !(is_value && !may_be_prose(*word));
    if (is_prose || (!is_open && is_option)) break;
    is_open = is_open || is_dots;
    if (!is_dots) command.words.push_back(word->text);
    command.end = word->end;
    if (word->is_last) break;
    at = word->end + 1;
  }
  if (!is_open || command.words.empty()) return std::nullopt;
  return command;
}

// ", torchtitan or deepspeed", " (for Megatron-Bridge, too)": others may be meant.
bool has_alternative(std::string_view rest) {
  if (rest.starts_with(" (the default)")) return false;
  return rest.starts_with(',') || rest.starts_with(" or ") || rest.starts_with(" (");
}

}  // namespace

std::vector<ProposedCommand> proposed_commands(std::string_view text) {
  std::vector<ProposedCommand> commands;
  for (const std::size_t at : places_of_name(text)) {
    auto command = command_at(text, at);
    if (!command) continue;
    command->follows = text.substr(0, at).ends_with("then ");
    commands.push_back(std::move(*command));
  }
  return commands;
}

std::vector<OpenCommand> open_commands(std::string_view text) {
  std::vector<OpenCommand> commands;
  for (const std::size_t at : places_of_name(text)) {
    if (auto command = open_command_at(text, at)) commands.push_back(std::move(*command));
  }
  return commands;
}

Arguments proposed_options(std::string_view help) {
  constexpr std::string_view kWrite = "write -";
  if (!help.starts_with(kWrite)) return {};
  Arguments words;
  for (std::size_t at = kWrite.size() - 1; at < help.size();) {
    const auto word = word_at(help, at);
    if (!word || word->text.empty() || has_place(word->text)) return {};
    const bool follows_option = !words.empty() && words.back().starts_with('-') &&
                                words.back().find('=') == std::string::npos;
    if (!word->text.starts_with('-') && !follows_option) break;
    words.push_back(word->text);
    if (word->is_last && has_alternative(help.substr(word->end))) return {};
    if (word->is_last) break;
    at = word->end + 1;
    if (has_alternative(help.substr(word->end))) return {};
  }
  return words;
}

}  // namespace penstock
