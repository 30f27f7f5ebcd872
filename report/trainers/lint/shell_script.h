// A launch script as bash would see it, as far as that is known without running anything: commands
// split into words, variables and arrays put in where the script itself sets them; what bash -c
// gets is read, too. Nothing is ever executed, and no file or environment is looked at.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ShellWord {
  std::string text;
  int line = 0;                 // where it was written, be it in an assignment
  std::string unresolved;       // "$PP": the first thing in it that the script does not say
  std::vector<int> lines = {};  // of every character of the text
};

struct ShellScript {
  std::vector<std::vector<ShellWord>> commands;        // in order, assignments left out
  std::map<std::string, std::vector<ShellWord>> sets;  // variables and arrays, at the end
  std::vector<std::string> arrays;                     // which of these are arrays
  std::set<std::string> alternatives;  // variables that hold, by condition, what is known
  std::vector<ShellWord> conditional;  // flags that a condition adds, or does not
  // What was not followed: files that are sourced, values that depend on a condition.
  std::vector<std::string> not_followed;
};

inline constexpr std::size_t kLargestScript = std::size_t{1} << 20;  // bytes, also when put in

// Error{kBadInput} "FILE:LINE: ..." with a remedy for quotes, brackets and parentheses that are not
// closed, control characters, and more than kLargestScript bytes, written or put in.
ShellScript read_shell_script(std::string_view text, const std::string& file);

}  // namespace penstock
