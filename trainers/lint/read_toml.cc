// A recursive descent over the text, one table or pair after the other; a value knows its line.
// Nesting is bounded, so that no file can exhaust the stack.
#include "trainers/lint/read_toml.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr int kDeepest = 64;

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& file, std::size_t at = 0, int line = 1)
      : text_(text), file_(file), at_(at), line_(line), settings_(file) {}

  LaunchSettings read() {
    while (skip_lines(), !done()) {
      peek() == '[' ? read_table() : read_pair();
      end_line();
    }
    return std::move(settings_);
  }

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] int line() const { return line_; }

  Json value(int depth = 0) {
    if (depth > kDeepest) fail("nested deeper than 64", "take brackets away");
    if (done()) fail("a value is missing", "write one after the =");
    const int line = line_;
    Json json;
    if (peek() == '"' || peek() == '\'') {
      json = Json(string());
    } else if (peek() == '[') {
      json = array(depth);
    } else if (peek() == '{') {
      json = inline_table(depth);
    } else {
      json = word();
    }
    json.set_line(line);
    return json;
  }

 private:
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return text_[at_]; }
  [[nodiscard]] bool starts(std::string_view what) const {
    return text_.substr(at_).starts_with(what);
  }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& help) const {
    throw_bad_input(fmt::format("{}:{}: {}\nhelp: {}", file_, line_, what, help));
  }

  void skip_blanks() {
    while (!done() && (peek() == ' ' || peek() == '\t' || peek() == '\r')) ++at_;
  }
  void skip_comment() {
    if (done() || peek() != '#') return;
    while (!done() && peek() != '\n') ++at_;
  }
  void skip_lines() {
    for (;;) {
      skip_blanks();
      skip_comment();
      if (done() || peek() != '\n') return;
      next();
    }
  }
  void end_line() {
    skip_blanks();
    skip_comment();
    if (!done() && peek() != '\n') {
      fail(fmt::format("'{}' follows the value", rest()), "begin a new line");
    }
  }
  // What the line still holds, for messages.
  [[nodiscard]] std::string rest() const {
    constexpr std::size_t kLongest = 40;
    const std::string_view left = text_.substr(at_, kLongest);
    return std::string(left.substr(0, left.find('\n')));
  }

  std::string key() {
    std::string path;
    for (;;) {
      skip_blanks();
      std::string part;
      if (!done() && (peek() == '"' || peek() == '\'')) {
        part = string();
      } else {
        while (!done() && is_bare(peek())) part += next();
      }
      if (part.empty()) fail(fmt::format("expected a key, got '{}'", rest()), "write NAME = VALUE");
      path += (path.empty() ? "" : ".") + part;
      skip_blanks();
      if (done() || peek() != '.') return path;
      ++at_;
    }
  }

  void read_table() {
    if (starts("[[")) fail("an array of tables is not read here", "write one [table]");
    ++at_;
    table_ = key();
    if (done() || peek() != ']') fail("the table's ] is missing", "write [" + table_ + "]");
    ++at_;
    if (!tables_.insert(table_).second) {
      fail("the table [" + table_ + "] is there twice", "put both together");
    }
  }

  void read_pair() {
    LaunchSetting setting;
    setting.line = line_;
    const std::size_t begin = at_;
    const std::string path = key();
    setting.name = table_.empty() ? path : table_ + '.' + path;
    if (done() || peek() != '=') {
      fail(fmt::format("{}: expected =, got '{}'", path, rest()), "write NAME = VALUE");
    }
    ++at_;
    skip_blanks();
    setting.value = value();
    const std::string_view written = text_.substr(begin, at_ - begin);
    setting.text = std::string(written.substr(0, written.find('\n')));
    if (!keys_.insert(setting.name).second) {
      fail(setting.name + " is there twice", "keep one of them");
    }
    settings_.add(std::move(setting));
  }

  std::string string() {
    const char quote = peek();
    const std::string three(3, quote);
    const bool is_long = starts(three);
    at_ += is_long ? 3 : 1;
    if (is_long && !done() && peek() == '\n') next();
    std::string out;
    for (;;) {
      if (done() || (!is_long && peek() == '\n')) {
        fail("a quote is not closed", "close it on the same line");
      }
      if (is_long ? starts(three) : peek() == quote) break;
      const char c = next();
      if (c == '\\' && quote == '"') {
        out += escape();
      } else {
        out += c;
      }
    }
    at_ += is_long ? 3 : 1;
    return out;
  }

  std::string escape() {
    if (done()) fail("a quote is not closed", "close it");
    const char c = next();
    switch (c) {
      case 'n':
        return "\n";
      case 't':
        return "\t";
      case 'r':
        return "\r";
      case '"':
      case '\\':
        return {c};
      default:
        fail(fmt::format("\\{} is an escape that is not read here", c),
             "use '...', which has none");
    }
  }

  void skip_in_list() { skip_lines(); }

  Json array(int depth) {
    Json list = Json::array();
    ++at_;
    for (;;) {
      skip_lines();
      if (done()) fail("a [ is not closed", "close the list with ]");
      if (peek() == ']') break;
      list.push(value(depth + 1));
      skip_lines();
      if (!done() && peek() == ',') {
        ++at_;
      } else if (!done() && peek() != ']') {
        fail(fmt::format("expected , or ] in a list, got '{}'", rest()), "put a comma between");
      }
    }
    ++at_;
    return list;
  }

  Json inline_table(int depth) {
    Json table = Json::object();
    ++at_;
    for (;;) {
      skip_blanks();
      if (done()) fail("a { is not closed", "close the table with }");
      if (peek() == '}') break;
      const std::string name = key();
      if (done() || peek() != '=') fail(name + ": expected =", "write NAME = VALUE");
      ++at_;
      skip_blanks();
      if (table.find(name) != nullptr) fail(name + " is there twice", "keep one of them");
      table.set(name, value(depth + 1));
      skip_blanks();
      if (!done() && peek() == ',') {
        ++at_;
      } else if (!done() && peek() != '}') {
        fail(fmt::format("expected , or }} in a table, got '{}'", rest()), "put a comma between");
      }
    }
    ++at_;
    return table;
  }

  Json word() {
    std::string text;
    while (!done() && (is_bare(peek()) || peek() == '+' || peek() == '.')) text += next();
    if (text == "true" || text == "True") return Json(true);
    if (text == "false" || text == "False") return Json(false);
    if (text == "None") return {};
    std::string digits = text;
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    if (digits.starts_with('+')) digits.erase(0, 1);
    double number = 0.0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
      fail(fmt::format("'{}' is no value", text.empty() ? rest() : text),
           "a text must be in quotes; dates are not read");
    }
    return Json::number(digits);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_;
  int line_;
  std::string table_;
  std::set<std::string> tables_, keys_;
  LaunchSettings settings_;
};

}  // namespace

LaunchSettings read_toml(std::string_view text, const std::string& file) {
  return TomlReader(text, file).read();
}

Json read_toml_value(std::string_view text, std::size_t& at, int& line, const std::string& file) {
  TomlReader reader(text, file, at, line);
  Json value = reader.value();
  at = reader.at();
  line = reader.line();
  return value;
}

}  // namespace penstock
