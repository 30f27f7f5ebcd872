// A launch script as bash would see it, as far as that is known without running anything: commands
// split into words, variables and arrays put in where the script itself sets them; what bash -c
// gets is read, too, and files beside the script that it reads, as far as the caller finds them.
// Nothing is ever executed, and no environment is looked at.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/lint/source_lines.h"

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
  std::vector<ShellWord> conditional;  // flags and overrides that a condition adds, or does not
  SourceLines lines;                   // of the script and of the files that it reads
  std::string read_too;                // the texts of these
  // What was not followed: files that were not found, values that depend on a condition; and which
  // files were read.
  std::vector<std::string> not_followed;
};

inline constexpr std::size_t kLargestScript = std::size_t{1} << 20;  // bytes, also when put in

// model.seq_length=4096, +data.x=1, ++a.b=2: a path of names, as Hydra and OmegaConf read it.
bool is_override(std::string_view word);
// engine=megatron, as Hydra reads it; other programs may mean something else by it.
bool is_choice(std::string_view word);

// The text of a file beside the script; nothing where there is none.
using FindBeside = std::function<std::optional<std::string>(const std::string& path)>;

// Where a word names a file in the script's folder or below it; empty where it does not.
std::string path_beside_script(const ShellWord& word);

// Error{kBadInput} "FILE:LINE: ..." with a remedy for quotes, brackets and parentheses that are not
// closed, control characters, and more than kLargestScript bytes, written or put in.
ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const FindBeside& beside = {});

}  // namespace penstock
