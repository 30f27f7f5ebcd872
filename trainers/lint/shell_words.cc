

#include "trainers/lint/shell_reader.h"

namespace penstock {

ShellReader::Fields ShellReader::read_word(int depth, bool splits, bool in_braces) {
  if (depth > kDeepestShell) fail(line_now(), "too many levels of ${", "set a variable of its own");
  Fields fields;
  bool open = false;  // the last field is still being written
  while (!done()) {
    const char c = peek();
    if (in_braces ? c == '}' : ends_shell_word(c)) break;
    if (c == '\\') {
      read_backslash(fields, open);
    } else if (c == '\'') {
      read_single_quotes(begun(fields, open));
    } else if (c == '"') {
      read_double_quotes(fields, open, depth);
    } else if (c == '$') {
      put(fields, open, read_dollar(depth), false, splits);
    } else if (c == '`') {
      put(fields, open, skip_backticks(), true, splits);
    } else {
      const int line = line_now();
      begun(fields, open).add(next(), line);
    }
  }
  return fields;
}

ShellText& ShellReader::begun(Fields& fields, bool& open) {
  if (!open) fields.emplace_back();
  open = true;
  return fields.back();
}

void ShellReader::read_backslash(Fields& fields, bool& open) {
  const bool joins = peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n');
  ++at_;
  if (joins) {
    if (peek() == '\r') ++at_;
    next();
  } else if (!done()) {
    const int line = line_now();
    begun(fields, open).add(next(), line);
  }
}

void ShellReader::read_single_quotes(ShellText& field) {
  const int line = line_now();
  ++at_;
  while (!done() && peek() != '\'') {
    const int here = line_now();
    field.add(next(), here);
  }
  if (done()) fail(line, "a ' is not closed", "close the quote");
  ++at_;
}

void ShellReader::read_double_quotes(Fields& fields, bool& open, int depth) {
  const int line = line_now();
  ++at_;
  begun(fields, open);
  while (!done() && peek() != '"') {
    const int here = line_now();
    if (peek() == '\\' && std::string_view("\"\\$`").find(peek(1)) != std::string_view::npos &&
        peek(1) != '\0') {
      ++at_;
      begun(fields, open).add(next(), here);
    } else if (peek() == '\\' && peek(1) == '\n') {
      ++at_;
      next();
    } else if (peek() == '$') {
      put(fields, open, read_dollar(depth), true, true);
    } else if (peek() == '`') {
      put(fields, open, skip_backticks(), true, true);
    } else {
      begun(fields, open).add(next(), here);
    }
  }
  if (done()) fail(line, "a \" is not closed", "close the quote");
  ++at_;
  begun(fields, open);
}

}  // namespace penstock
