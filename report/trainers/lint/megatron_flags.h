// The flags of Megatron-LM that are known here: those of its own parser, and by group those that
// its scripts, its older versions and its forks have beside them (tools/megatron_flags.py).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Without the two dashes, sorted.
const std::vector<std::string_view>& megatron_flags();
bool is_megatron_flag(std::string_view name);

// What Megatron-LM's parser lacks, and others have: "its own scripts", "older Megatron-LM", forks.
struct MegatronFlagGroup {
  std::string_view name, flags;  // without the two dashes, between blanks
};
std::span<const MegatronFlagGroup> megatron_flag_groups();
// The groups that have this flag.
std::vector<std::string_view> megatron_groups_with(std::string_view name);

// A flag that core 0.20 no longer takes, or calls deprecated; what to write instead, and what
// Megatron-LM does about it.
struct RenamedFlag {
  std::string_view name, now, what;
};
const RenamedFlag* find_renamed_megatron_flag(std::string_view name);  // null: not renamed

// As the script that makes the table writes them; for megatron_flags().
std::string_view megatron_flag_names();

}  // namespace penstock
