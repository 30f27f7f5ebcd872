// The flags that a version of Megatron-LM has, and by group those that its scripts, its older
// versions and its forks have beside them: trainers/megatron/<version>.json and forks.json.
#pragma once

#include <string_view>
#include <vector>

namespace penstock {

// What Megatron-LM's parser lacks, and others have.
inline constexpr std::string_view kOwnScripts = "its own scripts", kOlder = "older Megatron-LM";

// A flag that is no longer taken, or called deprecated; what to write instead, and what Megatron-LM
// does about it.
struct RenamedFlag {
  std::string_view name, now, what;
};

// Flags without the two dashes, sorted.
struct MegatronFlags {
  struct Group {
    std::string_view name;
    std::vector<std::string_view> flags;
  };
  std::vector<std::string_view> own;
  std::vector<Group> groups;
  std::vector<RenamedFlag> renamed;

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> groups_with(std::string_view name) const;
  [[nodiscard]] const RenamedFlag* find_renamed(std::string_view name) const;  // null: not renamed
};

MegatronFlags megatron_flags(std::string_view version);

}  // namespace penstock
