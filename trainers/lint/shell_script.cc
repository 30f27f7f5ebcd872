// A hand-written reader of words and commands, one pass, without a syntax tree: conditions are only
// counted, because all that matters is whether a command is certain. `bash -c` and sourced files
// are read in place by exchanging the text under the cursor, with a limit on depth. All that
// variables put in is counted, so no script makes it run long.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "trainers/lint/shell_reader.h"

namespace penstock {
namespace {

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

bool starts_script(const std::vector<ShellWord>& words) {
  return !words.empty() && (is_shell(words[0].text) || words[0].text == "sbatch");
}

}  // namespace

bool is_shell(std::string_view word) {
  constexpr std::array<std::string_view, 4> kShells{"bash", "sh", "zsh", "dash"};
  return is_one_of(kShells, word.substr(word.find_last_of('/') + 1));
}

ShellScript ShellReader::read() {
  refuse_what_is_no_text();
  while (!done()) read_command();
  for (const auto& [name, variable] : variables_) {
    std::vector<ShellWord>& words = script_.sets[name];
    words.reserve(variable.elements.size());
    for (const ShellText& element : variable.elements) words.push_back(element.word(0));
    if (variable.is_array) script_.arrays.push_back(name);
    const bool is_known = conditional_.contains(name) && !open_.contains(name);
    if (is_known) script_.alternatives.insert(name);
  }
  return std::move(script_);
}

void ShellReader::fail(int line, const std::string& what, const std::string& help) const {
  const std::string read = script_.lines.file_of(line);
  throw_bad_input(fmt::format("{}:{}: {}\nhelp: {}", read.empty() ? file_ : read,
                              script_.lines.line_in_file(line), what, help));
}

void ShellReader::refuse_what_is_no_text() {
  if (text_.size() > kLargestScript) {
    fail(1, fmt::format("{} bytes are not a launch script", text_.size()),
         fmt::format("at most {} are read; name the script itself", kLargestScript));
  }
  int line = 1;
  for (const char c : text_) {
    if (c == '\n') ++line;
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\t' && c != '\r') {
      fail(line, fmt::format("byte 0x{:02x} is not text", byte),
           "name a script, not a binary file");
    }
  }
}

void ShellReader::count(std::size_t characters) {
  put_in_ += characters;
  if (put_in_ > 4 * kLargestScript) {
    fail(line_now(), "variables put into each other make an endless text",
         "check what the script's variables hold");
  }
}

void ShellReader::skip_blanks() {
  for (;;) {
    if (!done() && is_shell_blank(peek())) {
      ++at_;
    } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\r' ? 2 : 1;
      next();
    } else {
      return;
    }
  }
}

void ShellReader::skip_comment() {
  const std::size_t begin = at_;
  while (!done() && peek() != '\n') ++at_;
  read_directive(text_.substr(begin, at_ - begin));
}

void ShellReader::read_command() {
  std::vector<ShellWord> words;
  bool assigns = true;  // at the command's beginning, or behind export
  bool tests = false;   // ((A > 1)) && B=2
  for (;;) {
    skip_blanks();
    if (done()) break;
    const char c = peek();
    if (c == '#') {
      skip_comment();
    } else if (c == '<' || c == '>') {
      skip_redirection(words);
    } else if (c == '(' && words.empty() && read_arithmetic_command()) {
      tests = true;
    } else if (ends_shell_word(c)) {
      const char separator = next();
      if (separator == '\n' && !heredocs_.empty()) read_heredocs(starts_script(words));
      note_condition(words, separator, tests);
      break;
    } else if (!(assigns && read_assignment())) {
      read_plain_word(words, assigns);
    }
  }
  finish(std::move(words));
}

void ShellReader::note_condition(const std::vector<ShellWord>& words, char separator,
                                 bool is_test) {
  const bool joins = (separator == '&' || separator == '|') && peek() == separator;
  if (joins) ++at_;
  const bool tests =
      is_test || (!words.empty() && (words.front().text == "[" || words.front().text == "[[" ||
                                     words.front().text == "test" || words.back().text == "]" ||
                                     words.back().text == "]]"));
  conditional_next_ = joins && (tests || (words.empty() && conditional_next_));
}

void ShellReader::read_plain_word(std::vector<ShellWord>& words, bool& assigns) {
  const int line = line_now();
  const std::size_t begin = at_;
  const Fields fields = read_word(0);
  const std::string_view written = text_.substr(begin, at_ - begin);
  if (words.empty() && is_one_of(kOpen, written)) {
    // The body of a loop over words runs; what a word is, is not known.
    blocks_.push_back(written == "for" ? 0 : 1);
    conditions_ += blocks_.back();
    if (written == "for" || written == "select") read_loop_name();
    if (written == "for") begin_loop();
    return;
  }
  if (words.empty() && is_one_of(kClose, written)) {
    if (blocks_.empty()) return;
    conditions_ -= blocks_.back();
    if (blocks_.back() == 0) end_loop();
    blocks_.pop_back();
    return;
  }
  if (words.empty() && is_one_of(kGlue, written)) return;
  if (words.empty() && is_one_of(kDeclare, written)) return;  // what follows assigns
  const bool is_option = written.starts_with('-') && words.empty();
  assigns = is_option && assigns;
  if (is_option && written.size() == 2) return;  // "declare -a"
  for (const ShellText& field : fields) words.push_back(field.word(line));
}

void ShellReader::read_loop_name() {
  skip_blanks();
  std::string name = read_name();
  if (!name.empty()) set(name, unknown(name), false);
}

// read -r TP PP <<< "$CONFIG"
void ShellReader::read_input(const std::vector<ShellWord>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i].text;
    const bool is_name = !name.empty() && is_shell_letter(name.front()) &&
                         std::all_of(name.begin(), name.end(), [](char c) {
                           return is_shell_letter(c) || is_shell_digit(c);
                         });
    if (is_name) set(name, unknown(name), false);
  }
}

void ShellReader::finish(std::vector<ShellWord> words) {
  if (note_loop_words(words) || words.empty()) return;
  if (words.front().text == "read") read_input(words);
  if (words.front().text == "let") {
    for (const ShellWord& word : words) set_by_arithmetic(word.text);
  }
  if (read_sourced(words) || read_started(words)) return;
  read_command_in_quotes(words);
  // Nothing is left of "bash -c ..." itself.
  if (!words.empty()) script_.commands.push_back(std::move(words));
}

void ShellReader::read_command_in_quotes(std::vector<ShellWord>& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    const std::string& option = words[i + 1].text;
    const bool takes_text = option.size() > 1 && option.size() < 5 && option[0] == '-' &&
                            option[1] != '-' && option.ends_with('c');
    if (!is_shell(words[i].text) || !takes_text) continue;
    const ShellWord inside = words[i + 2];
    const std::vector<ShellWord> behind(words.begin() + static_cast<std::ptrdiff_t>(i + 3),
                                        words.end());
    words.resize(i);
    std::map<std::string, ShellVariable> outer;
    if (!behind.empty()) {
      for (const auto& [name, variable] : variables_) count(characters_of(variable));
      outer = variables_;
      set_own_name(behind.front());
      set_arguments(behind, 1);
    }
    read_inside(inside);
    if (!behind.empty()) variables_ = std::move(outer);
    return;
  }
}

void ShellReader::read_inside(const ShellWord& text) {
  if (depth_ >= kDeepestShell) fail(text.line, "too many levels of bash -c", "unfold it");
  count(text.text.size() + 1);
  const std::string_view outer_text = text_;
  const std::vector<int>* outer_lines = inner_lines_;
  const std::size_t outer_at = at_;
  const int outer_line = line_;
  text_ = text.text;
  inner_lines_ = &text.lines;
  at_ = 0;
  ++depth_;
  while (!done()) read_command();
  --depth_;
  text_ = outer_text;
  inner_lines_ = outer_lines;
  at_ = outer_at;
  line_ = outer_line;
}

void ShellReader::skip_redirection(std::vector<ShellWord>& words) {
  const auto is_number = [](const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_shell_digit);
  };
  // "2>": the 2 belongs to it.
  if (!words.empty() && at_ > 0 && is_shell_digit(text_[at_ - 1]) && is_number(words.back().text)) {
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

void ShellReader::read_heredocs(bool are_scripts) {
  const std::vector<std::string> ends = std::exchange(heredocs_, {});
  for (const std::string& end : ends) {
    ShellWord body;
    while (!done()) {
      std::string_view row = text_.substr(at_, text_.find('\n', at_) - at_);
      for (std::size_t i = 0; i <= row.size(); ++i) {
        // The outer shell leaves \$A to the inner one as $A.
        if (row.substr(i).starts_with("\\$")) continue;
        body.text += i < row.size() ? row[i] : '\n';
        body.lines.push_back(line_now());
      }
      at_ += row.size();
      if (!done()) next();
      while (!row.empty() && row.front() == '\t') row.remove_prefix(1);
      while (!row.empty() && row.back() == '\r') row.remove_suffix(1);
      if (row == end) break;
    }
    if (!are_scripts && !body.text.starts_with("#!")) continue;
    body.text.erase(std::min(body.text.size(), body.text.rfind(end)));
    body.line = body.lines.empty() ? line_now() : body.lines.front();
    read_inside(body);
  }
}

ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const FindBeside& beside) {
  return ShellReader(text, file, beside).read();
}

}  // namespace penstock
