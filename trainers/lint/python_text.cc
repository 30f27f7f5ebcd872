// Python is divided into statements and arguments by brackets, quotes and comments alone; nothing
// is evaluated. A bracket or string that is not closed is refused with its line.
#include "trainers/lint/python_text.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

// Behind the string or comment that begins at `at`; `at` itself where none does. Past the end of
// the text: a string that is not closed.
std::size_t behind_text(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '#') return std::min(text.find('\n', at), text.size());
  if (c != '"' && c != '\'') return at;
  const bool is_long = at + 2 < text.size() && text[at + 1] == c && text[at + 2] == c;
  const std::string_view mark = text.substr(at, is_long ? 3 : 1);
  for (std::size_t i = at + mark.size(); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(mark)) {
      return i + mark.size();
    } else if (!is_long && text[i] == '\n') {
      break;
    }
  }
  return text.size() + 1;
}

int lines_in(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

[[noreturn]] void fail(const std::string& file, int line, const char* what) {
  throw_bad_input(fmt::format("{}:{}: {} is not closed\nhelp: close it", file, line, what));
}

// Without the blanks and comments around it.
PythonText trimmed(PythonText piece) {
  while (!piece.text.empty()) {
    const char c = piece.text.front();
    const std::size_t skip = c == '#' ? std::min(piece.text.find('\n'), piece.text.size()) : 1;
    if (c != '#' && kBlanks.find(c) == std::string_view::npos) break;
    piece.line += lines_in(piece.text.substr(0, skip));
    piece.text.remove_prefix(skip);
  }
  const std::size_t end = piece.text.find_last_not_of(kBlanks);
  piece.text = piece.text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return piece;
}

// "name=value", but not "a == b".
PythonArgument argument_of(const PythonText& piece) {
  std::size_t end = 0;
  while (end < piece.text.size() && is_in_python_name(piece.text[end])) ++end;
  const std::size_t equals = piece.text.find_first_not_of(kBlanks, end);
  const bool is_keyword = end > 0 && equals != std::string_view::npos &&
                          piece.text[equals] == '=' && piece.text.substr(equals, 2) != "==";
  if (!is_keyword) return {"", piece};
  PythonText value{piece.text.substr(equals + 1), piece.line};
  value.line += lines_in(piece.text.substr(0, equals + 1));
  return {piece.text.substr(0, end), trimmed(value)};
}

}  // namespace

std::optional<std::string> defined_function(const PythonStatement& statement) {
  constexpr std::string_view kDef = "def ";
  const std::string_view text = statement.whole.text;
  if (statement.indent > 0 || !text.starts_with(kDef)) return std::nullopt;
  const std::size_t end = std::min(text.find('('), text.size());
  return std::string(text.substr(kDef.size(), end - kDef.size()));
}

std::vector<PythonStatement> read_python_statements(std::string_view text,
                                                    const std::string& file) {
  std::vector<PythonStatement> statements;
  int line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t row = at;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
    const std::size_t begin = at;
    const int first_line = line;
    int open = 0;
    while (at < text.size() && (text[at] != '\n' || open > 0)) {
      const std::size_t behind = behind_text(text, at);
      if (behind > text.size()) fail(file, first_line, "a quote");
      if (opens(text[at])) ++open;
      if (closes(text[at])) open = std::max(0, open - 1);
      const bool joins = text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '\n';
      const std::size_t next = behind > at ? behind : at + (joins ? 2 : 1);
      line += lines_in(text.substr(at, next - at));
      at = next;
    }
    if (open > 0) fail(file, first_line, "a bracket");
    const bool is_empty = at == begin || text[begin] == '#';
    if (!is_empty) {
      statements.push_back(
          {{text.substr(begin, at - begin), first_line}, static_cast<int>(begin - row)});
    }
    ++at;
    ++line;
  }
  return statements;
}

std::size_t end_of_python_bracket(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size();) {
    const std::size_t behind = behind_text(text, at);
    if (behind > at) {
      at = behind;
      continue;
    }
    if (opens(text[at])) ++depth;
    if (closes(text[at]) && --depth == 0) return at + 1;
    ++at;
  }
  return text.size();
}

std::vector<PythonArgument> read_python_arguments(const PythonText& statement, std::size_t open) {
  std::vector<PythonArgument> arguments;
  const std::size_t end = end_of_python_bracket(statement.text, open);
  std::size_t begin = open + 1;
  for (std::size_t at = begin; at < end;) {
    const char c = statement.text[at];
    const std::size_t behind = behind_text(statement.text, at);
    if (behind > at) {
      at = std::min(behind, end);
    } else if (c == ',' || at + 1 == end) {
      PythonText piece{statement.text.substr(begin, at - begin), statement.line};
      piece.line += lines_in(statement.text.substr(0, begin));
      piece = trimmed(piece);
      if (!piece.text.empty()) arguments.push_back(argument_of(piece));
      begin = ++at;
    } else {
      at = opens(c) ? std::min(end_of_python_bracket(statement.text, at), end - 1) : at + 1;
    }
  }
  return arguments;
}

}  // namespace penstock
