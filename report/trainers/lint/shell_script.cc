#include "report/trainers/lint/shell_script.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "report/trainers/lint/shell_arithmetic.h"
#include "report/trainers/lint/shell_text.h"

namespace penstock {
namespace {

constexpr int kDeepest = 64;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool ends_word(char c) {
  return is_blank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
}
template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 6> kOpen{"if", "while", "until", "for", "case", "select"};
constexpr std::array<std::string_view, 3> kClose{"fi", "done", "esac"};
constexpr std::array<std::string_view, 10> kGlue{"then", "else", "elif", "do",       "{",
                                                 "}",    "!",    "time", "function", "exec"};
constexpr std::array<std::string_view, 5> kDeclare{"export", "declare", "local", "readonly",
                                                   "typeset"};

struct Variable {
  std::vector<ShellText> elements;
  bool is_array = false;
};

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  ShellScript read() {
    refuse_what_is_no_text();
    while (!done()) read_command();
    for (const auto& [name, variable] : variables_) {
      std::vector<ShellWord>& words = script_.sets[name];
      words.reserve(variable.elements.size());
      for (const ShellText& element : variable.elements) words.push_back(element.word(0));
      if (variable.is_array) script_.arrays.push_back(name);
    }
    return std::move(script_);
  }

 private:
  using Fields = std::vector<ShellText>;

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char next() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }
  [[noreturn]] void fail(int line, const std::string& what, const std::string& help) const {
    throw_bad_input(fmt::format("{}:{}: {}\nhelp: {}", file_, line, what, help));
  }

  void refuse_what_is_no_text() {
    if (text_.size() > kLargestScript) {
      fail(1, fmt::format("{} bytes are no launch script", text_.size()),
           fmt::format("at most {} are read; name the script itself", kLargestScript));
    }
    int line = 1;
    for (const char c : text_) {
      if (c == '\n') ++line;
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') {
        fail(line, fmt::format("byte 0x{:02x} stands in no text", byte),
             "name a script, not a binary file");
      }
    }
  }

  // What expansions put in is counted, since a few lines can double it many times over.
  void count(std::size_t characters) {
    put_in_ += characters;
    if (put_in_ > 4 * kLargestScript) {
      fail(line_, "variables put into each other make an endless text",
           "check what the script's variables hold");
    }
  }

  // --- commands

  void skip_blanks() {
    for (;;) {
      if (!done() && is_blank(peek())) {
        ++at_;
      } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
        at_ += peek(1) == '\r' ? 2 : 1;
        next();
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    while (!done() && peek() != '\n') ++at_;
  }

  // Up to the end of one simple command. Words that only join commands are passed over.
  void read_command() {
    std::vector<ShellWord> words;
    bool assigns = true;  // at the command's beginning, or behind export
    for (;;) {
      skip_blanks();
      if (done()) break;
      const char c = peek();
      if (c == '#') {
        skip_comment();
      } else if (c == '<' || c == '>') {
        skip_redirection(words);
      } else if (ends_word(c)) {
        const bool heredoc = next() == '\n' && !heredocs_.empty();
        if (heredoc) skip_heredocs();
        break;
      } else if (!(assigns && read_assignment())) {
        read_plain_word(words, assigns);
      }
    }
    finish(std::move(words));
  }

  void read_plain_word(std::vector<ShellWord>& words, bool& assigns) {
    const int line = line_;
    const std::size_t begin = at_;
    const Fields fields = read_word(0);
    const std::string_view written = text_.substr(begin, at_ - begin);
    if (words.empty() && is_one_of(kOpen, written)) {
      ++conditions_;
      if (written == "for" || written == "select") read_loop_name();
      return;
    }
    if (words.empty() && is_one_of(kClose, written)) {
      conditions_ = std::max(0, conditions_ - 1);
      return;
    }
    if (words.empty() && is_one_of(kGlue, written)) return;
    if (words.empty() && is_one_of(kDeclare, written)) return;  // what follows assigns
    const bool is_option = written.starts_with('-') && words.empty();
    assigns = is_option && assigns;
    if (is_option && written.size() == 2) return;  // "declare -a"
    for (const ShellText& field : fields) words.push_back(field.word(line));
  }

  void read_loop_name() {
    skip_blanks();
    std::string name = read_name();
    if (!name.empty()) set(name, unknown(name), false);
  }

  void finish(std::vector<ShellWord> words) {
    if (words.empty()) return;
    const bool sources = words[0].text == "source" || words[0].text == ".";
    if (sources && words.size() > 1) {
      script_.not_followed.push_back(
          fmt::format("{} (line {}) is sourced, and was not read", words[1].text, words[1].line));
    }
    script_.commands.push_back(std::move(words));
  }

  void skip_redirection(std::vector<ShellWord>& words) {
    const auto is_number = [](const std::string& text) {
      return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
    };
    // "2>": the 2 belongs to it.
    if (!words.empty() && at_ > 0 && is_digit(text_[at_ - 1]) && is_number(words.back().text)) {
      words.pop_back();
    }
    const bool here = peek() == '<' && peek(1) == '<' && peek(2) != '<';
    while (!done() && (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|')) ++at_;
    if (here && peek() == '-') ++at_;
    skip_blanks();
    if (done() || peek() == '\n' || peek() == '(') return;
    const Fields target = read_word(0);
    if (here && !target.empty()) heredocs_.push_back(target.front().chars());
  }

  void skip_heredocs() {
    for (const std::string& end : heredocs_) {
      while (!done()) {
        std::string_view row = text_.substr(at_, text_.find('\n', at_) - at_);
        at_ += row.size();
        if (!done()) next();
        while (!row.empty() && row.front() == '\t') row.remove_prefix(1);
        while (!row.empty() && row.back() == '\r') row.remove_suffix(1);
        if (row == end) break;
      }
    }
    heredocs_.clear();
  }

  // --- variables

  std::string read_name() {
    std::string name;
    while (!done() && (is_letter(peek()) || (!name.empty() && is_digit(peek())))) name += next();
    return name;
  }

  Variable unknown(const std::string& name) const {
    Variable variable;
    variable.elements.emplace_back().add_unknown('$' + name, line_);
    return variable;
  }

  // NAME=..., NAME+=..., NAME=( ... ). False, and nothing is read, when it is none.
  bool read_assignment() {
    const std::size_t at = at_;
    const std::string name = read_name();
    const bool appends = peek() == '+' && peek(1) == '=';
    if (name.empty() || (peek() != '=' && !appends)) {
      at_ = at;
      return false;
    }
    at_ += appends ? 2 : 1;
    Variable value;
    if (peek() == '(') {
      value = {read_array(), true};
    } else {
      ShellText& whole = value.elements.emplace_back();
      for (const ShellText& field : read_word(0, false)) whole.append(field);
    }
    set(name, std::move(value), appends);
    return true;
  }

  Fields read_array() {
    const int line = line_;
    ++at_;
    Fields elements;
    for (;;) {
      skip_blanks();
      if (done()) fail(line, "a ( is not closed", "close the array with )");
      if (peek() == ')') break;
      if (peek() == '#') {
        skip_comment();
      } else if (ends_word(peek())) {
        next();  // of these bash's arrays have only new lines
      } else {
        for (ShellText& field : read_word(0)) elements.push_back(std::move(field));
      }
    }
    ++at_;
    return elements;
  }

  // A+=(...), A+=..., and A="$A ...".
  static bool adds_to(const Variable& variable, const Variable& value, bool appends) {
    if (appends) return true;
    if (variable.elements.empty() || value.elements.size() != 1 || value.is_array) return false;
    const std::string& before = variable.elements[0].chars();
    return !before.empty() && value.elements[0].chars().starts_with(before);
  }

  void set(const std::string& name, Variable value, bool appends) {
    Variable& variable = variables_[name];
    if (conditions_ > 0 && (appends || !(variable.elements == value.elements))) {
      if (conditional_.insert(name).second) {
        script_.not_followed.push_back(
            fmt::format("${} is set under a condition (line {})", name, line_));
      }
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
    std::size_t characters = 0;
    for (const ShellText& element : variable.elements) characters += element.size() + 1;
    count(characters);
  }

  // --- words

  // What one word becomes: none when it is an empty expansion, several when one is split. Stops at
  // what ends a word, or inside ${...} at its }.
  Fields read_word(int depth, bool splits = true, bool in_braces = false) {
    if (depth > kDeepest) fail(line_, "${ stands in ${ too often", "set a variable of its own");
    Fields fields;
    bool open = false;  // the last field is still being written
    while (!done()) {
      const char c = peek();
      if (in_braces ? c == '}' : ends_word(c)) break;
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
        const int line = line_;
        begun(fields, open).add(next(), line);
      }
    }
    return fields;
  }

  static ShellText& begun(Fields& fields, bool& open) {
    if (!open) fields.emplace_back();
    open = true;
    return fields.back();
  }

  void read_backslash(Fields& fields, bool& open) {
    const bool joins = peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n');
    ++at_;
    if (joins) {
      if (peek() == '\r') ++at_;
      next();
    } else if (!done()) {
      const int line = line_;
      begun(fields, open).add(next(), line);
    }
  }

  void read_single_quotes(ShellText& field) {
    const int line = line_;
    ++at_;
    while (!done() && peek() != '\'') {
      const int here = line_;
      field.add(next(), here);
    }
    if (done()) fail(line, "a ' is not closed", "close the quote");
    ++at_;
  }

  void read_double_quotes(Fields& fields, bool& open, int depth) {
    const int line = line_;
    ++at_;
    begun(fields, open);
    while (!done() && peek() != '"') {
      const int here = line_;
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

  // --- expansions

  struct Expansion {
    Fields elements;
    bool is_list = false;  // ${NAME[@]}: stays several words inside quotes
  };

  static Expansion unknown_expansion(const std::string& name, int line) {
    Expansion expansion;
    expansion.elements.emplace_back().add_unknown(name, line);
    return expansion;
  }

  // Puts an expansion behind what was read of a word.
  void put(Fields& fields, bool& open, const Expansion& expansion, bool quoted, bool splits) {
    bool first = true;
    for (const ShellText& element : expansion.elements) {
      count(element.size() + 1);
      if (!first && expansion.is_list && (splits || quoted)) open = false;
      if (!first && !(expansion.is_list && (splits || quoted))) {
        begun(fields, open).add(' ', line_);
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
  static bool is_blank_or_newline(char c) { return is_blank(c) || c == '\n'; }

  Expansion skip_backticks() {
    const int line = line_;
    ++at_;
    while (!done() && peek() != '`') next();
    if (done()) fail(line, "a ` is not closed", "close it");
    ++at_;
    return unknown_expansion("$(...)", line);
  }

  Expansion read_dollar(int depth) {
    const int line = line_;
    ++at_;
    const char c = peek();
    if (c == '{') return read_braces(depth);
    if (c == '(' && peek(1) == '(') return read_arithmetic();
    if (c == '(') {
      skip_parentheses(line);
      return unknown_expansion("$(...)", line);
    }
    if (is_letter(c)) return value_of(read_name(), line);
    if (is_digit(c) ||
        (c != '\0' && std::string_view("@*#?!$-").find(c) != std::string_view::npos)) {
      ++at_;
      return unknown_expansion(std::string("$") + c, line);
    }
    Expansion dollar;
    dollar.elements.emplace_back().add('$', line);
    return dollar;
  }

  Expansion value_of(const std::string& name, int line) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return unknown_expansion('$' + name, line);
    Expansion expansion;
    if (!found->second.elements.empty()) expansion.elements.push_back(found->second.elements[0]);
    return expansion;
  }

  void skip_parentheses(int line) {
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

  Expansion read_arithmetic() {
    const int line = line_;
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

  [[nodiscard]] std::optional<std::int64_t> number_of(const std::string& name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end() || found->second.elements.size() != 1) return {};
    const std::string& text = found->second.elements[0].chars();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return number;
  }

  // At the { of ${...}.
  Expansion read_braces(int depth) {
    const int line = line_;
    ++at_;
    std::string name = read_name();
    // An argument of the script: a plain start gives none.
    if (name.empty() && is_digit(peek())) name = next();
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
    skip_braces(line);
    return unknown_expansion("${" + name + "...}", line);
  }

  Expansion all_of(const std::string& name, int line) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return unknown_expansion("${" + name + "[@]}", line);
    return {found->second.elements, true};
  }

  // ${NAME:-WORD}, ${NAME:=WORD}, ${NAME:+WORD}, and without the colon. What the script does not
  // set is taken as not set: the word is the value that a plain start would have.
  Expansion read_alternative(const std::string& name, char sign, bool colon, int line, int depth) {
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
    if (sign == '=') set(name, Variable{{word}, false}, false);
    Expansion expansion;
    expansion.elements.push_back(std::move(word));
    return expansion;
  }

  void skip_braces(int line) {
    int open = 1;
    while (open > 0) {
      if (done()) fail(line, "a ${ is not closed", "close it with }");
      const char c = next();
      if (c == '\\' && !done()) next();
      if (c == '{') ++open;
      if (c == '}') --open;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0, put_in_ = 0;
  int line_ = 1, conditions_ = 0;
  std::map<std::string, Variable> variables_;
  std::set<std::string> conditional_;
  std::vector<std::string> heredocs_;
  ShellScript script_;
};

}  // namespace

ShellScript read_shell_script(std::string_view text, const std::string& file) {
  return ShellReader(text, file).read();
}

}  // namespace penstock
