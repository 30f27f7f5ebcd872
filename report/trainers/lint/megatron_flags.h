// The flags of Megatron-LM that are known here: those of its own arguments.py, and those of the
// zero-bubble fork.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Without the two dashes, sorted.
const std::vector<std::string_view>& megatron_flags();

// A flag that core 0.20 no longer takes, or calls deprecated; what to write instead, and what
// Megatron-LM does about it.
struct RenamedFlag {
  std::string_view name, now, what;
};
const RenamedFlag* find_renamed_megatron_flag(std::string_view name);  // null: not renamed

}  // namespace penstock
