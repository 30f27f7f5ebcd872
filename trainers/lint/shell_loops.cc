// A for loop's body is read once, as its first turn: commands in it may count as started. What a
// turn computes from the turn before it is not known, and behind a loop whose words the script does
// not say, which may be none, only what was so before it is certain.
#include <algorithm>
#include <utility>

#include "trainers/lint/shell_reader.h"

namespace penstock {

void ShellReader::begin_loop() {
  Loop loop;
  loop.words_at = at_;
  loop.conditions = conditions_;
  loops_.push_back(std::move(loop));
}

bool ShellReader::note_loop_words(const std::vector<ShellWord>& words) {
  if (loops_.empty() || !loops_.back().awaits_words) return false;
  Loop& loop = loops_.back();
  loop.awaits_words = false;
  if (words.empty() || words.front().text != "in") {
    // for ((i = 0; i < 8; i++)) turns; without words the loop is one over "$@".
    const std::size_t open = text_.find_first_not_of(" \t", std::min(loop.words_at, text_.size()));
    loop.runs = open != std::string_view::npos && loop.words_at < at_ && text_[open] == '(';
    return false;
  }
  const std::string_view written =
      loop.words_at < at_ ? text_.substr(loop.words_at, at_ - loop.words_at) : std::string_view();
  loop.runs = written.find("(seq ") != std::string_view::npos ||
              written.find("`seq ") != std::string_view::npos ||
              std::any_of(words.begin() + 1, words.end(), [](const ShellWord& word) {
                return word.unresolved.empty() || word.text != word.unresolved;
              });
  return true;
}

bool ShellReader::is_carried(const std::string& name, bool reads_itself) {
  if (loops_.empty()) return false;
  const auto found = variables_.find(name);
  for (Loop& loop : loops_) {
    if (loop.before.contains(name)) continue;
    const bool is_set = found != variables_.end();
    if (is_set) count(characters_of(found->second));
    loop.before[name] = is_set ? std::optional(found->second) : std::nullopt;
  }
  Loop& loop = loops_.back();
  if (reads_itself) return !loop.fresh.contains(name);
  if (conditions_ == loop.conditions && !conditional_next_) loop.fresh.insert(name);
  return false;
}

void ShellReader::end_loop() {
  if (loops_.empty()) return;
  const Loop loop = std::move(loops_.back());
  loops_.pop_back();
  if (loop.runs) return;
  for (const auto& [name, before] : loop.before) {
    const auto found = variables_.find(name);
    if (found == variables_.end()) continue;
    const ShellVariable now = found->second;
    if (before && before->elements == now.elements) continue;
    found->second = before.value_or(ShellVariable());
    const bool keeps = before && adds_to(*before, now, false);
    set_under_condition(name, now, false, "in a loop that may not run");
    // What was added, or may be, is in it; its flags are known to be uncertain.
    variables_[name] = keeps ? now : unknown(name);
  }
}

void ShellReader::set_by_arithmetic(std::string_view expression) {
  std::size_t at = 0;
  const auto blank = [&expression](std::size_t i) {
    while (i < expression.size() && is_blank_or_newline(expression[i])) ++i;
    return i;
  };
  while (at < expression.size()) {
    if (!is_shell_letter(expression[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < expression.size() &&
           (is_shell_letter(expression[at]) || is_shell_digit(expression[at]))) {
      ++at;
    }
    const std::string name(expression.substr(begin, at - begin));
    const std::string_view behind = expression.substr(std::min(blank(at), expression.size()));
    const std::string_view before = expression.substr(0, begin);
    const std::size_t equals = behind.find('=');
    const bool assigns =
        behind.starts_with("++") || behind.starts_with("--") || before.ends_with("++") ||
        before.ends_with("--") ||
        (equals != std::string_view::npos && equals <= 2 &&
         !behind.substr(equals).starts_with("==") &&
         behind.substr(0, equals).find_first_not_of("+-*/%&|^<>") == std::string_view::npos &&
         (equals != 1 || std::string_view("<>").find(behind[0]) == std::string_view::npos));
    if (assigns) set(name, unknown(name), false);
  }
}

bool ShellReader::read_arithmetic_command() {
  if (peek(1) != '(') return false;
  const std::size_t close = text_.find("))", at_);
  if (close == std::string_view::npos) return false;
  const std::string_view inside = text_.substr(at_ + 2, close - at_ - 2);
  // A ( in a ( of commands is none.
  if (inside.find('\n') != std::string_view::npos) return false;
  at_ = close + 2;
  set_by_arithmetic(inside);
  return true;
}

}  // namespace penstock
