// A variable is a list of texts whose characters remember their lines, so a finding points at the
// line that set the value. What is set under a condition may or may not hold: an addition keeps the
// certain part, anything else makes the variable unknown, and flags that it would bring are listed
// as conditional. The total that expansions put in is bounded.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "trainers/lint/shell_reader.h"

namespace penstock {

std::string ShellReader::read_name() {
  std::string name;
  while (!done() && (is_shell_letter(peek()) || (!name.empty() && is_shell_digit(peek()))))
    name += next();
  return name;
}

ShellVariable ShellReader::unknown(const std::string& name) const {
  ShellVariable variable;
  variable.elements.emplace_back().add_unknown('$' + name, line_now());
  return variable;
}

bool ShellReader::read_assignment() {
  const std::size_t at = at_;
  const std::string name = read_name();
  const bool appends = peek() == '+' && peek(1) == '=';
  if (name.empty() || (peek() != '=' && !appends)) {
    at_ = at;
    return false;
  }
  at_ += appends ? 2 : 1;
  ShellVariable value;
  if (peek() == '(') {
    value = {read_array(), true};
  } else {
    ShellText& whole = value.elements.emplace_back();
    for (const ShellText& field : read_word(0, false)) whole.append(field);
  }
  set(name, std::move(value), appends);
  return true;
}

ShellReader::Fields ShellReader::read_array() {
  const int line = line_now();
  ++at_;
  Fields elements;
  for (;;) {
    skip_blanks();
    if (done()) fail(line, "a ( is not closed", "close the array with )");
    if (peek() == ')') break;
    if (peek() == '#') {
      skip_comment();
    } else if (ends_shell_word(peek())) {
      next();  // of these bash's arrays have only new lines
    } else {
      for (ShellText& field : read_word(0)) elements.push_back(std::move(field));
    }
  }
  ++at_;
  return elements;
}

bool ShellReader::adds_to(const ShellVariable& variable, const ShellVariable& value, bool appends) {
  if (appends) return true;
  if (variable.elements.empty() || value.is_array != variable.is_array) return false;
  if (value.is_array) {
    return value.elements.size() >= variable.elements.size() &&
           std::equal(variable.elements.begin(), variable.elements.end(), value.elements.begin());
  }
  if (value.elements.size() != 1) return false;
  const std::string& before = variable.elements[0].chars();
  const std::string& after = value.elements[0].chars();
  return !before.empty() && (after.starts_with(before) || after.ends_with(before));
}

void ShellReader::note_flags(const std::string& name, const ShellVariable& value) {
  const std::map<std::string, ShellVariable>::const_iterator before = variables_.find(name);
  std::set<std::string> known;
  if (before != variables_.end()) {
    for (const ShellText& element : before->second.elements) {
      for (const ShellText& part : element.split()) known.insert(part.chars());
    }
  }
  for (const ShellText& element : value.elements) {
    for (const ShellText& part : element.split()) {
      if (known.contains(part.chars())) continue;  // there without the condition
      ShellWord word = part.word(line_now());
      const bool is_open = !word.unresolved.empty() && word.text == word.unresolved;
      if (is_open) open_.insert(name);
      if (word.text.starts_with("--") || is_override(word.text)) {
        script_.conditional.push_back(std::move(word));
      }
    }
  }
}

std::size_t ShellReader::characters_of(const ShellVariable& variable) {
  std::size_t characters = 1;  // the variable itself
  for (const ShellText& element : variable.elements) characters += element.size() + 1;
  return characters;
}

void ShellReader::set(const std::string& name, ShellVariable value, bool appends) {
  ShellVariable& variable = variables_[name];
  const bool is_conditional = conditions_ > 0 || conditional_next_;
  if (is_conditional && (appends || !(variable.elements == value.elements))) {
    count(characters_of(variable) + characters_of(value));
    if (conditional_.insert(name).second) {
      script_.not_followed.push_back(
          fmt::format("${} is set under a condition ({})", name, script_.lines.words(line_now())));
    }
    note_flags(name, value);
    // What was certain stays so; what is added may or may not be there.
    if (!adds_to(variable, value, appends)) variable = unknown(name);
    return;
  }
  if (!appends) {
    variable = std::move(value);
  } else if (value.is_array) {
    variable.is_array = true;
    for (ShellText& element : value.elements) variable.elements.push_back(std::move(element));
  } else {
    if (variable.elements.empty()) variable.elements.emplace_back();
    variable.elements.front().append(value.elements.front());
  }
  count(characters_of(variable));
}

}  // namespace penstock
