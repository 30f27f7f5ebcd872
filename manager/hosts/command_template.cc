// Quoting rule: a word is put between single quotes, in which a POSIX shell changes nothing, and a
// single quote within it becomes '\''. A host never reaches a shell, but ssh would take one that
// begins with a dash for an option, so such names are refused where hosts are read.
#include "manager/hosts/command_template.h"

#include <string_view>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::string_view kHost = "{host}";
constexpr std::string_view kCommand = "{command}";
constexpr std::string_view kWords = "{command...}";

[[noreturn]] void bad_template(const std::string& text, const std::string& what) {
  throw_bad_input("command '" + text + "': " + what +
                  "\nhelp: for example: ssh -o BatchMode=yes {host} {command}");
}

// As a shell divides a line; quotes group, nothing else is special.
std::vector<std::string> divided(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0') bad_template(text, "a quote is not closed");
  if (in_word) words.push_back(word);
  return words;
}

std::string with_host(std::string word, const std::string& host) {
  for (std::size_t at = word.find(kHost); at != std::string::npos;
       at = word.find(kHost, at + host.size())) {
    word.replace(at, kHost.size(), host);
  }
  return word;
}

bool is_plain(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
  return !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
}

}  // namespace

std::string quoted_for_shell(const std::string& word) {
  if (is_plain(word)) return word;
  std::string result = "'";
  for (const char c : word) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quoted_for_shell(word);
  return line;
}

CommandTemplate::CommandTemplate(const std::string& text) : words_(divided(text)) {
  std::ptrdiff_t commands = 0;
  for (const std::string& word : words_) {
    if (word == kCommand || word == kWords) {
      ++commands;
      continue;
    }
    const std::string rest = with_host(word, "");
    const std::size_t open = rest.find('{');
    if (open != std::string::npos && rest.find('}', open) != std::string::npos) {
      bad_template(text, "'" + word + "' has a place that is none of {host}, and {command} and " +
                             "{command...} as words of their own");
    }
  }
  if (commands != 1) bad_template(text, "one word must be {command} or {command...}");
  if (words_.front() == kCommand || words_.front() == kWords) {
    bad_template(text, "it begins with the command, so that nothing says how to reach the host");
  }
}

std::vector<std::string> CommandTemplate::words(const std::string& host,
                                                const std::vector<std::string>& command) const {
  std::vector<std::string> result;
  for (const std::string& word : words_) {
    if (word == kCommand) {
      result.push_back(shell_line(command));
    } else if (word == kWords) {
      result.insert(result.end(), command.begin(), command.end());
    } else {
      result.push_back(with_host(word, host));
    }
  }
  return result;
}

}  // namespace penstock
