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
namespace {

bool is_of_name(char c) { return is_shell_letter(c) || is_shell_digit(c); }

// $NAME, ${NAME..}, and NAME within $((..)).
bool reads(std::string_view written, std::string_view name) {
  const bool has_arithmetic = written.find("((") != std::string_view::npos;
  for (std::size_t at = written.find(name); at != std::string_view::npos;
       at = written.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (end < written.size() && is_of_name(written[end])) continue;
    const char before = at > 0 ? written[at - 1] : ' ';
    if (before == '$' || before == '{' || (has_arithmetic && !is_of_name(before))) return true;
  }
  return false;
}

}  // namespace

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
  const std::size_t value_at = at_;
  ShellVariable value;
  if (peek() == '(') {
    value = {read_array(), true};
  } else {
    ShellText& whole = value.elements.emplace_back();
    for (const ShellText& field : read_word(0, false)) whole.append(field);
  }
  const bool reads_itself = appends || reads(text_.substr(value_at, at_ - value_at), name);
  set(name, std::move(value), appends, reads_itself);
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
  // "1" is no part of "16": a text is added behind a blank.
  const auto is_blank = [](char c) { return is_blank_or_newline(c); };
  if (appends && !value.is_array) {
    const std::string& added = value.elements.front().chars();
    return variable.elements.empty() || variable.is_array || variable.elements[0].empty() ||
           added.empty() || is_blank(added.front()) ||
           is_blank(variable.elements[0].chars().back());
  }
  if (appends) return true;
  if (variable.elements.empty() || value.is_array != variable.is_array) return false;
  if (value.is_array) {
    return value.elements.size() >= variable.elements.size() &&
           std::equal(variable.elements.begin(), variable.elements.end(), value.elements.begin());
  }
  if (value.elements.size() != 1) return false;
  const std::string& before = variable.elements[0].chars();
  const std::string& after = value.elements[0].chars();
  if (before.empty() || after.size() < before.size()) return false;
  if (after == before) return true;
  const std::size_t more = after.size() - before.size();
  return (after.starts_with(before) &&
          (is_blank(after[before.size()]) || is_blank(before.back()))) ||
         (after.ends_with(before) && (is_blank(after[more - 1]) || is_blank(before.front())));
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
      if (word.text.starts_with("--") || is_override(word.text) || is_choice(word.text)) {
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

// What was certain stays so; what is added may or may not be there.
void ShellReader::set_under_condition(const std::string& name, const ShellVariable& value,
                                      bool appends, const char* how) {
  ShellVariable& variable = variables_[name];
  count(characters_of(variable) + characters_of(value));
  if (conditional_.insert(name).second) {
    script_.not_followed.push_back(
        fmt::format("${} is set {} ({})", name, how, script_.lines.words(line_now())));
  }
  note_flags(name, value);
  if (!adds_to(variable, value, appends)) variable = unknown(name);
}

void ShellReader::set(const std::string& name, ShellVariable value, bool appends,
                      bool reads_itself) {
  const bool is_conditional = conditions_ > 0 || conditional_next_;
  const bool is_carried_on = is_carried(name, reads_itself && !is_conditional);
  ShellVariable& variable = variables_[name];
  if (is_conditional && (appends || !(variable.elements == value.elements))) {
    set_under_condition(name, value, appends, "under a condition");
    return;
  }
  // Flags that each turn of a loop adds are there, once or more often.
  if (is_carried_on && !adds_to(variable, value, appends)) {
    set_under_condition(name, value, appends, "from itself in a loop");
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
