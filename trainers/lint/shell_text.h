// Text in the making while a shell script is read: every character knows its line, and what the
// script does not say stands in it as a mark. Private to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/shell_script.h"

namespace penstock {

class ShellText {
 public:
  void add(char c, int line) {
    chars_ += c;
    lines_.push_back(line);
  }
  void add(std::string_view text, int line) {
    for (const char c : text) add(c, line);
  }
  // What stands for an expansion whose value is not known; `name` has no blanks.
  void add_unknown(const std::string& name, int line) { add(kBegin + name + kEnd, line); }
  void append(const ShellText& other) {
    chars_ += other.chars_;
    lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end());
  }

  [[nodiscard]] bool empty() const { return chars_.empty(); }
  [[nodiscard]] std::size_t size() const { return chars_.size(); }
  [[nodiscard]] bool is_known() const { return chars_.find(kBegin) == std::string::npos; }
  [[nodiscard]] const std::string& chars() const { return chars_; }
  // Parts between blanks.
  [[nodiscard]] std::vector<ShellText> split() const;
  // `line`: of an empty word.
  [[nodiscard]] ShellWord word(int line) const;

  bool operator==(const ShellText& other) const { return chars_ == other.chars_; }

 private:
  // Control characters, which a script may not have.
  static constexpr char kBegin = '\x01', kEnd = '\x02';

  std::string chars_;
  std::vector<int> lines_;
};

}  // namespace penstock
