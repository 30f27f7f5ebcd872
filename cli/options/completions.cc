// Completion scripts of bash, zsh and fish, made of the option tables of this very build. Texts go
// into quoted strings of three shells, each with rules of its own; values of a list that commas
// join are completed one by one.
#include "cli/options/completions.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace penstock {
namespace {

// The first words of a help, for a menu of one line per option.
std::string brief(const std::string& help) {
  constexpr std::size_t kLongest = 60;
  const std::string first = help.substr(0, help.find_first_of(";("));
  if (first.size() <= kLongest) {
    return first.substr(0, first.find_last_not_of(' ') + 1);
  }
  return first.substr(0, first.rfind(' ', kLongest)) + " ...";
}

// Inside '...' of every shell but fish, where a quote cannot be escaped.
std::string without_quotes(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '`');
  return text;
}

bool starts_two(const std::string& name) { return name.starts_with("--"); }

// ---- bash

std::string bash_values(const VerbToComplete& verb, const OptionRow& row) {
  std::vector<std::string> patterns;
  patterns.reserve(row.names.size());
  for (const std::string& name : row.names) patterns.push_back(verb.name + ":" + name);
  const std::string pattern = fmt::format("    {})", fmt::join(patterns, "|"));
  if (!row.choices.empty()) {
    return fmt::format("{} _penstock_words '{}'; return ;;\n", pattern,
                       fmt::join(row.choices, " "));
  }
  if (row.is_file())
    return pattern + " compopt -o filenames 2>/dev/null; _penstock_files; return ;;\n";
  return pattern + " return ;;\n";
}

std::string bash_words(const VerbToComplete& verb) {
  std::vector<std::string> options, values;
  for (const OptionRow& row : verb.options.rows) {
    std::vector<std::string>& words = row.positional ? values : options;
    const std::vector<std::string>& from = row.positional ? row.choices : row.names;
    words.insert(words.end(), from.begin(), from.end());
  }
  return fmt::format("    {}) options='{}'; values='{}' ;;\n", verb.name, fmt::join(options, " "),
                     fmt::join(values, " "));
}

constexpr std::string_view kBashHead =
    R"(# bash completion of penstock; made by: penstock completions bash
# Words of a list that commas join are completed one by one.
_penstock_words() {
  local head=
  [[ $cur == *,* ]] && head=${cur%,*},
  mapfile -t COMPREPLY < <(compgen -P "$head" -W "$1" -- "${cur##*,}")
}
_penstock_files() { mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
_penstock() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options values
  COMPREPLY=()
  # The shell divides --name=value at the sign.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
)";

constexpr std::string_view kBashTail = R"(    *) return ;;
  esac
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    return
  fi
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur"; compgen -f -- "$cur")
}
complete -F _penstock penstock
)";

std::string bash(std::span<const VerbToComplete> verbs) {
  std::string names;
  for (const VerbToComplete& verb : verbs) names += verb.name + ' ';
  std::string out(kBashHead);
  out += fmt::format(
      "  if (( COMP_CWORD == 1 )); then _penstock_words '{}help --help --version'; return; fi\n",
      names);
  out += fmt::format(
      "  if [[ ${{COMP_WORDS[1]}} == help ]]; then _penstock_words '{}'; return; fi\n", names);
  out += "  case ${COMP_WORDS[1]}:$prev in\n";
  for (const VerbToComplete& verb : verbs) {
    for (const OptionRow& row : verb.options.rows) {
      if (row.takes_value() && !row.positional) out += bash_values(verb, row);
    }
  }
  out += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const VerbToComplete& verb : verbs) out += bash_words(verb);
  return out + std::string(kBashTail);
}

// ---- zsh

// Inside [...] and between colons of an _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : without_quotes(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionRow& row) {
  const std::string what = zsh_text(row.positional ? row.names.front() : row.value_name);
  if (!row.choices.empty()) {
    const std::string words = fmt::format("{}", fmt::join(row.choices, " "));
    if (row.is_list()) return fmt::format(":{}:_sequence compadd - {}", what, words);
    if (row.is_file()) return fmt::format(":{}:{{ compadd - {}; _files }}", what, words);
    return fmt::format(":{}:({})", what, words);
  }
  return fmt::format(":{}:{}", what, row.is_file() ? "_files" : " ");
}

std::string zsh_specification(const OptionRow& row) {
  if (row.positional) return fmt::format("'{}'", zsh_action(row));
  const std::string tail = zsh_text(brief(row.help));
  const std::string action = row.takes_value() ? zsh_action(row) : "";
  if (row.names.size() == 1) {
    return fmt::format("'{}{}[{}]{}'", row.repeated ? "*" : "", row.names.front(), tail, action);
  }
  const std::string before =
      row.repeated ? "'*'" : fmt::format("'({})'", fmt::join(row.names, " "));
  return fmt::format("{}{{{}}}'[{}]{}'", before, fmt::join(row.names, ","), tail, action);
}

std::string zsh(std::span<const VerbToComplete> verbs) {
  std::string out =
      "#compdef penstock\n# zsh completion of penstock; made by: penstock completions zsh\n"
      "_penstock() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbToComplete& verb : verbs) {
    out += fmt::format("    '{}:{}'\n", verb.name, zsh_text(verb.summary));
  }
  out +=
      "  )\n  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
      "  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $verb in\n";
  for (const VerbToComplete& verb : verbs) {
    out += fmt::format("    {}) _arguments", verb.name);
    for (const OptionRow& row : verb.options.rows) out += " \\\n      " + zsh_specification(row);
    out += " ;;\n";
  }
  return out + "    help) _describe verb verbs ;;\n  esac\n}\ncompdef _penstock penstock\n";
}

// ---- fish

std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_values(const OptionRow& row) {
  if (!row.choices.empty()) {
    const std::string words = fmt::format("{}", fmt::join(row.choices, " "));
    return row.is_list() ? fmt::format(" -x -a '(__fish_append , {})'", words)
                         : fmt::format(" -x -a '{}'", words);
  }
  if (row.takes_value()) return row.is_file() ? " -r -F" : " -x";
  return "";
}

std::string fish_line(const VerbToComplete& verb, const OptionRow& row) {
  std::string line =
      fmt::format("complete -c penstock -n '__fish_seen_subcommand_from {}'", verb.name);
  if (row.positional) {
    if (row.choices.empty()) return "";  // files, as everywhere
    return line + fmt::format(" -a '{}'\n", fmt::join(row.choices, " "));
  }
  for (const std::string& name : row.names) {
    line += starts_two(name) ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return line + fish_values(row) + fmt::format(" -d '{}'\n", fish_text(brief(row.help)));
}

std::string fish(std::span<const VerbToComplete> verbs) {
  std::string out = "# fish completion of penstock; made by: penstock completions fish\n";
  for (const VerbToComplete& verb : verbs) {
    out += fmt::format("complete -c penstock -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       verb.name, fish_text(verb.summary));
  }
  for (const VerbToComplete& verb : verbs) {
    for (const OptionRow& row : verb.options.rows) out += fish_line(verb, row);
  }
  return out;
}

}  // namespace

std::string completions(Shell shell, std::span<const VerbToComplete> verbs) {
  switch (shell) {
    case Shell::kBash:
      return bash(verbs);
    case Shell::kZsh:
      return zsh(verbs);
    case Shell::kFish:
      return fish(verbs);
  }
  return "";
}

}  // namespace penstock
