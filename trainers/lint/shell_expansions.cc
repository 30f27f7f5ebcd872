// $NAME, ${NAME...}, $(...), $((...)) and backticks, as far as they can be known without running
// anything. A command substitution is unknown but for `cat FILE`, whose file is read if the caller
// finds it. A default like ${SLURM_NNODES:-1} says nothing of the job, since launchers set such
// names, and is unknown. An unknown text keeps the name by which findings mention it.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "trainers/lint/shell_arithmetic.h"
#include "trainers/lint/shell_reader.h"

namespace penstock {
namespace {

// What Slurm, MPI, torchrun and platforms for training set before a script starts: its default says
// nothing of the job.
bool is_set_outside(std::string_view name) {
  constexpr std::array<std::string_view, 8> kFamilies{"SLURM_", "OMPI_", "PMI_", "PMIX_",
                                                      "PBS_",   "LSB_",  "PET_", "MLP_"};
  constexpr std::array<std::string_view, 13> kNames{
      "WORLD_SIZE",  "NNODES",    "NUM_NODES",  "NODES",      "NODE_COUNT",
      "RANK",        "NODE_RANK", "LOCAL_RANK", "GROUP_RANK", "MASTER_ADDR",
      "MASTER_PORT", "HOSTFILE",  "NODE_NUM"};
  const auto begins = [name](std::string_view family) { return name.starts_with(family); };
  return std::any_of(kFamilies.begin(), kFamilies.end(), begins) ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

ShellReader::Expansion ShellReader::unknown_expansion(const std::string& name, int line) {
  Expansion expansion;
  expansion.elements.emplace_back().add_unknown(name, line);
  return expansion;
}

void ShellReader::put(Fields& fields, bool& open, const Expansion& expansion, bool quoted,
                      bool splits) {
  bool first = true;
  for (const ShellText& element : expansion.elements) {
    count(element.size() + 1);
    if (!first && expansion.is_list && (splits || quoted)) open = false;
    if (!first && !(expansion.is_list && (splits || quoted))) {
      begun(fields, open).add(' ', line_now());
    }
    first = false;
    if (quoted || !splits) {
      begun(fields, open).append(element);
      continue;
    }
    if (!element.empty() && is_blank_or_newline(element.chars().front())) open = false;
    bool first_part = true;
    for (const ShellText& part : element.split()) {
      if (!first_part) open = false;
      first_part = false;
      begun(fields, open).append(part);
    }
    if (!element.empty() && is_blank_or_newline(element.chars().back())) open = false;
  }
}

ShellReader::Expansion ShellReader::skip_backticks() {
  const int line = line_now();
  const std::size_t begin = ++at_;
  while (!done() && peek() != '`') next();
  if (done()) fail(line, "a ` is not closed", "close it");
  const std::string_view inside = text_.substr(begin, at_ - begin);
  ++at_;
  if (auto file = read_cat(inside, line)) return *file;
  return unknown_expansion("$(...)", line);
}

ShellReader::Expansion ShellReader::read_dollar(int depth) {
  const int line = line_now();
  ++at_;
  const char c = peek();
  if (c == '{') return read_braces(depth);
  if (c == '(' && peek(1) == '(') return read_arithmetic();
  if (c == '(') {
    const std::size_t begin = at_;
    skip_parentheses(line);
    if (auto file = read_cat(text_.substr(begin + 1, at_ - begin - 2), line)) return *file;
    return unknown_expansion("$(...)", line);
  }
  if (is_shell_letter(c)) return value_of(read_name(), line);
  if (is_shell_digit(c) ||
      (c != '\0' && std::string_view("@*#?!$-").find(c) != std::string_view::npos)) {
    ++at_;
    const std::string name(1, c);
    if (!variables_.contains(name)) return unknown_expansion('$' + name, line);
    return c == '@' || c == '*' ? all_of(name, line) : value_of(name, line);
  }
  Expansion dollar;
  dollar.elements.emplace_back().add('$', line);
  return dollar;
}

ShellReader::Expansion ShellReader::value_of(const std::string& name, int line) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return unknown_expansion('$' + name, line);
  Expansion expansion;
  if (!found->second.elements.empty()) expansion.elements.push_back(found->second.elements[0]);
  return expansion;
}

void ShellReader::skip_parentheses(int line) {
  int open = 0;
  do {
    if (done()) fail(line, "a $( is not closed", "close it with )");
    const char c = next();
    if (c == '\'' || c == '"') {
      while (!done() && peek() != c) {
        if (peek() == '\\' && c == '"') ++at_;
        if (!done()) next();
      }
      if (!done()) next();
    }
    if (c == '(') ++open;
    if (c == ')') --open;
  } while (open > 0);
}

ShellReader::Expansion ShellReader::read_arithmetic() {
  const int line = line_now();
  const std::size_t begin = at_;
  skip_parentheses(line);
  std::string_view inside = text_.substr(begin, at_ - begin);
  if (inside.size() < 4 || !inside.ends_with("))")) return unknown_expansion("$((...))", line);
  inside = inside.substr(2, inside.size() - 4);
  std::string plain;
  for (const char c : inside) {
    // $A, ${A} and A are the same in there.
    if (c != '$' && c != '{' && c != '}') plain += c;
  }
  const auto number =
      shell_arithmetic(plain, [this](const std::string& name) { return number_of(name); });
  if (!number) return unknown_expansion("$((...))", line);
  Expansion expansion;
  expansion.elements.emplace_back().add(fmt::format("{}", *number), line);
  return expansion;
}

std::optional<std::int64_t> ShellReader::number_of(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.elements.size() != 1) return {};
  const std::string& text = found->second.elements[0].chars();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

ShellReader::Expansion ShellReader::read_braces(int depth) {
  const int line = line_now();
  ++at_;
  std::string name = read_name();
  // An argument of the script: a plain start gives none.
  if (name.empty() && is_shell_digit(peek())) name = next();
  if (!name.empty() && peek() == '}') {
    ++at_;
    return value_of(name, line);
  }
  if (!name.empty() && (peek() == '[') && (peek(1) == '@' || peek(1) == '*') && peek(2) == ']' &&
      peek(3) == '}') {
    at_ += 4;
    return all_of(name, line);
  }
  const bool colon = peek() == ':';
  const char sign = peek(colon ? 1 : 0);
  if (!name.empty() && (sign == '-' || sign == '=' || sign == '+')) {
    at_ += colon ? 2 : 1;
    return read_alternative(name, sign, colon, line, depth);
  }
  // "${@:2}": as with $@, a plain start has none.
  const bool is_arguments = name.empty() && peek() == '@' && !variables_.contains("@");
  skip_braces(line);
  return unknown_expansion(is_arguments ? "$@" : "${" + name + "...}", line);
}

ShellReader::Expansion ShellReader::all_of(const std::string& name, int line) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return unknown_expansion("${" + name + "[@]}", line);
  return {found->second.elements, true};
}

ShellReader::Expansion ShellReader::read_alternative(const std::string& name, char sign, bool colon,
                                                     int line, int depth) {
  ShellText word;
  bool first = true;
  for (const ShellText& field : read_word(depth + 1, false, true)) {
    if (!first) word.add(' ', line);
    first = false;
    word.append(field);
  }
  if (done()) fail(line, "a ${ is not closed", "close it with }");
  ++at_;
  const auto found = variables_.find(name);
  const bool is_set = found != variables_.end() && !found->second.elements.empty() &&
                      !(colon && found->second.elements[0].empty());
  if (sign == '+' ? !is_set : is_set) {
    if (sign == '+') return {};
    return value_of(name, line);
  }
  if (sign != '+' && is_set_outside(name)) {
    if (sign == '=') set(name, unknown(name), false);
    return unknown_expansion('$' + name, line);
  }
  if (sign == '=') set(name, ShellVariable{{word}, false}, false);
  Expansion expansion;
  expansion.elements.push_back(std::move(word));
  return expansion;
}

void ShellReader::skip_braces(int line) {
  int open = 1;
  while (open > 0) {
    if (done()) fail(line, "a ${ is not closed", "close it with }");
    const char c = next();
    if (c == '\\' && !done()) next();
    if (c == '{') ++open;
    if (c == '}') --open;
  }
}

}  // namespace penstock
