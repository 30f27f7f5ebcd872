#include "trainers/megatron/megatron_flags.h"

#include <algorithm>

#include "trainers/trainer_facts.h"
#include "trainers/trainer_table.h"

namespace penstock {

bool MegatronFlags::has(std::string_view name) const {
  return std::binary_search(own.begin(), own.end(), name);
}

std::vector<std::string_view> MegatronFlags::groups_with(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const Group& group : groups) {
    if (std::binary_search(group.flags.begin(), group.flags.end(), name)) {
      found.push_back(group.name);
    }
  }
  return found;
}

const RenamedFlag* MegatronFlags::find_renamed(std::string_view name) const {
  for (const RenamedFlag& flag : renamed) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

MegatronFlags megatron_flags(std::string_view version) {
  const Json& facts = facts_of("megatron", version);
  MegatronFlags flags;
  for (const auto& [kind, names] : fact(facts, "flags").members()) {
    for (const Json& name : names.elements()) flags.own.push_back(name.text());
  }
  std::sort(flags.own.begin(), flags.own.end());
  flags.groups.push_back({kOwnScripts, fact_names(facts, "script_flags")});
  for (const Json& group : fact(facts_of("megatron", "forks"), "groups").elements()) {
    flags.groups.push_back({fact_text(group, "name"), fact_names(group, "flags")});
  }
  for (const Json& one : fact(facts, "renamed").elements()) {
    flags.renamed.push_back(
        {fact_text(one, "name"), fact_text(one, "now"), fact_text(one, "what")});
  }
  return flags;
}

}  // namespace penstock
