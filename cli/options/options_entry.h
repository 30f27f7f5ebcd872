// What Options keeps of every declaration, and what its answers share; private to options.cc and to
// what looks for the meaning of words that it cannot take.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/options/options.h"

namespace penstock {

// A line of the help, and where its value goes; a heading has neither.
struct Options::Entry {
  std::string names, value_name, help;
  std::vector<std::string> choices;
  CLI::Option* option = nullptr;
  bool is_positional = false;
  std::string* text = nullptr;
  std::optional<std::string>* optional = nullptr;
  std::vector<std::string>* list = nullptr;
  bool* flag = nullptr;
};

struct Options::Parser {
  CLI::App app;
};

// A file of another kind in the first place says more of what was meant than the options do.
void refuse_other_file(const std::string& usage, const Arguments& arguments);
// Those parts of it in verb_files.cc: a file where `import` has the name of a tool; and a file that
// is there and belongs to another verb, or behind a plan.
void refuse_file_as_tool(const std::string& usage, const Arguments& arguments);
void refuse_file_of_other_verb(const std::string& verb, const Arguments& arguments);
// That part of it in verb_without_file.cc: what was typed belongs into a file, or writes one.
void refuse_verb_without_file(const std::string& verb, const Arguments& arguments);
// Of a trainer's script where a verb with these options has no place for it.
std::string help_for_launch_file(const std::string& path, const std::vector<std::string>& known);

}  // namespace penstock
