// The reader behind read_shell_script(): commands (shell_script.cc), variables, words, expansions,
// a file each. Private to this folder.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/shell_script.h"
#include "trainers/lint/shell_text.h"

namespace penstock {

inline bool is_shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_shell_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_shell_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
inline bool ends_shell_word(char c) {
  return is_shell_blank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
}

bool is_shell(std::string_view word);  // "bash", "/bin/sh"

// Deeper than this nothing is read: quotes in quotes, commands in commands.
inline constexpr int kDeepestShell = 64;

struct ShellVariable {
  std::vector<ShellText> elements;
  bool is_array = false;
};

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::string& file, const FindBeside& beside)
      : text_(text),
        file_(file),
        beside_(beside),
        main_lines_(static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1) {}

  ShellScript read();

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
  // Of what is read next. The characters of a command in quotes know where they were written.
  [[nodiscard]] int line_now() const {
    if (inner_lines_ == nullptr || inner_lines_->empty()) return line_;
    return (*inner_lines_)[std::min(at_, inner_lines_->size() - 1)];
  }
  [[noreturn]] void fail(int line, const std::string& what, const std::string& help) const;
  void refuse_what_is_no_text();
  // What expansions put in, and what is copied or looked through, is counted, since a few lines can
  // double it many times over.
  void count(std::size_t characters);
  static std::size_t characters_of(const ShellVariable& variable);

  // --- commands
  void skip_blanks();
  void skip_comment();
  // Up to the end of one simple command. Words that only join commands are passed over.
  void read_command();
  void read_plain_word(std::vector<ShellWord>& words, bool& assigns);
  void read_loop_name();
  // ((A *= 2)), let A++: what it sets is not known. False, and nothing is read, where it is none.
  bool read_arithmetic_command();
  void set_by_arithmetic(std::string_view expression);
  void read_input(const std::vector<ShellWord>& words);
  void finish(std::vector<ShellWord> words);
  // bash -c TEXT: the command in TEXT is read with the variables as they are.
  void read_command_in_quotes(std::vector<ShellWord>& words);
  void read_inside(const ShellWord& text);

  // --- for loops (shell_loops.cc): the body is read once and may run many times, or never
  struct Loop {
    std::size_t words_at = 0;  // where its words begin in the text
    bool awaits_words = true, runs = false;
    int conditions = 0;
    std::map<std::string, std::optional<ShellVariable>> before;  // of what the body sets
    std::set<std::string> fresh;  // that the body sets for certain before it reads them
  };
  void begin_loop();
  // Whether the words of a loop over them are there; true where the command was these words.
  bool note_loop_words(const std::vector<ShellWord>& words);
  // A variable's value before the loops that it is set in; true where its own decides the new one,
  // so that each turn has another.
  bool is_carried(const std::string& name, bool reads_itself);
  void end_loop();

  // --- files beside the script (shell_files.cc)
  struct Beside {
    std::string path, text;
    int first_line = 0;
  };
  std::optional<Beside> find_beside(const ShellWord& word, std::string& why_not);
  void note_read(const Beside& file, int line);
  // Its commands, with the variables as they are.
  void read_beside(const Beside& file);
  // source FILE, . FILE; bash FILE, ./FILE.sh. False where the command is none, or finds no file.
  bool read_sourced(const std::vector<ShellWord>& words);
  bool read_started(const std::vector<ShellWord>& words);
  // What $1, $2, $@ and $0 are in a script that is started.
  void set_arguments(const std::vector<ShellWord>& words, std::size_t from);
  void set_own_name(const ShellWord& word);
  // #SBATCH --nodes=4 sets $SLURM_NNODES, and so on.
  void read_directive(std::string_view comment);
  void take_directive(const std::string& name, std::string value);
  // Whether what follows && or || runs only under a condition: [ ... ] && A=1.
  void note_condition(const std::vector<ShellWord>& words, char separator, bool is_test);
  void skip_redirection(std::vector<ShellWord>& words);
  // What a shell gets as its input is read as a script is; the rest is passed over.
  void read_heredocs(bool are_scripts);

  // --- variables
  std::string read_name();
  ShellVariable unknown(const std::string& name) const;
  // NAME=..., NAME+=..., NAME=( ... ). False, and nothing is read, when it is none.
  bool read_assignment();
  Fields read_array();
  // A+=(...), A+=..., and A="$A ...".
  static bool adds_to(const ShellVariable& variable, const ShellVariable& value, bool appends);
  // The flags that a condition may put into a variable.
  void note_flags(const std::string& name, const ShellVariable& value);
  void set(const std::string& name, ShellVariable value, bool appends, bool reads_itself = false);
  void set_under_condition(const std::string& name, const ShellVariable& value, bool appends,
                           const char* how);

  // --- words
  // What one word becomes: none when it is an empty expansion, several when one is split. Stops at
  // what ends a word, or inside ${...} at its }.
  Fields read_word(int depth, bool splits = true, bool in_braces = false);
  static ShellText& begun(Fields& fields, bool& open);
  void read_backslash(Fields& fields, bool& open);
  void read_single_quotes(ShellText& field);
  void read_double_quotes(Fields& fields, bool& open, int depth);

  // --- expansions
  struct Expansion {
    Fields elements;
    bool is_list = false;  // ${NAME[@]}: stays several words inside quotes
  };
  static Expansion unknown_expansion(const std::string& name, int line);
  // Puts an expansion behind what was read of a word.
  void put(Fields& fields, bool& open, const Expansion& expansion, bool quoted, bool splits);
  static bool is_blank_or_newline(char c) { return is_shell_blank(c) || c == '\n'; }
  Expansion skip_backticks();
  // What $(cat <<EOF) puts in.
  std::optional<Expansion> read_cat_heredoc(std::string_view inside, int line);
  Expansion read_heredoc_text(std::string_view body, bool is_quoted, int line);
  // What $(cat FILE) and $(<FILE) put in.
  std::optional<Expansion> read_cat(std::string_view inside, int line);
  Expansion read_dollar(int depth);
  Expansion value_of(const std::string& name, int line) const;
  void skip_parentheses(int line);
  Expansion read_arithmetic();
  [[nodiscard]] std::optional<std::int64_t> number_of(const std::string& name) const;
  // At the { of ${...}.
  Expansion read_braces(int depth);
  Expansion all_of(const std::string& name, int line) const;
  // ${NAME:-WORD}, ${NAME:=WORD}, ${NAME:+WORD}, and without the colon. What the script does not
  // set is taken as not set: the word is the value that a plain start would have. What a cluster's
  // launcher sets is not known.
  Expansion read_alternative(const std::string& name, char sign, bool colon, int line, int depth);
  void skip_braces(int line);

  std::string_view text_;
  const std::string& file_;
  const FindBeside& beside_;
  const int main_lines_;
  std::vector<std::string> open_files_;  // that are being read, the innermost last
  std::size_t files_read_ = 0, characters_read_ = 0;
  std::size_t at_ = 0, put_in_ = 0;
  int line_ = 1, conditions_ = 0, depth_ = 0;
  std::vector<int> blocks_;        // that are open; 1: a condition, and conditions_ is the sum
  std::vector<Loop> loops_;        // those that are 0 in blocks_
  bool conditional_next_ = false;  // behind [ ... ] &&
  const std::vector<int>* inner_lines_ = nullptr;  // of a command in quotes
  std::map<std::string, ShellVariable> variables_;
  std::set<std::string> conditional_, open_;  // open: what a condition puts there is not known
  std::vector<std::string> heredocs_;
  ShellScript script_;
};

}  // namespace penstock
