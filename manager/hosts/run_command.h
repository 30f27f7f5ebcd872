// Runs a program to its end and returns what it printed.
#pragma once

#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct CommandOutput {
  int exit_code = -1;  // -1: it did not end by itself within the limit, or could not be started
  std::string text;    // of its stdout
  bool operator==(const CommandOutput&) const = default;
};

// `words`: the first is the program, looked up in PATH. What has not ended after `limit` is killed,
// with all that it started. At most a megabyte of output is kept.
CommandOutput run_command(std::vector<std::string> words, Duration limit);

}  // namespace penstock
