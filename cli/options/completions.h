// What a shell needs to complete `penstock`: verbs, options, and the values that can be listed.
#pragma once

#include <span>
#include <string>

#include "cli/options/option_table.h"

namespace penstock {

struct VerbToComplete {
  std::string name, summary;
  OptionTable options;
};

enum class Shell { kBash, kZsh, kFish };

// A script for the shell to read. Where a value is a number or a time it completes nothing; where
// it is a path, files.
std::string completions(Shell shell, std::span<const VerbToComplete> verbs);

}  // namespace penstock
