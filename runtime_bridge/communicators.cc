#include "runtime_bridge/communicators.h"

namespace penstock {
namespace {

constexpr std::string_view kOfPlan = " of plan ";

}  // namespace

std::vector<CommunicatorId> Communicators::of_plan(const RankProgram& program) {
  const std::string suffix =
      plans_ == 0 ? std::string() : std::string(kOfPlan) + std::to_string(plans_);
  ++plans_;
  std::vector<CommunicatorId> ids;
  ids.reserve(program.communicators.size());
  for (const CommunicatorSetup& group : program.communicators) {
    const auto key = std::pair(group.name, group.members);
    auto known = formed_.find(key);
    if (known == formed_.end()) {
      known = formed_.emplace(key, transport_.form_group(group.name + suffix, group.members)).first;
    }
    ids.push_back(known->second);
  }
  return ids;
}

std::string_view name_in_plan(std::string_view group) {
  return group.substr(0, group.find(kOfPlan));
}

}  // namespace penstock
