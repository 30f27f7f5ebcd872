#include "core/files/groups_of_stages.h"

#include "core/values/action_rules.h"

namespace penstock {

GroupsOfStages::GroupsOfStages(const Program& program,
                               const std::vector<std::vector<StageId>>& stages_of_group)
    : data_parallel_(program.stages.size()),
      tied_(program.stages.size()),
      job_(program.stages.size()) {
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const GroupKind kind = program.groups[g].kind;
    auto& groups = kind == GroupKind::kDataParallel  ? data_parallel_
                   : kind == GroupKind::kTiedWeights ? tied_
                                                     : job_;
    for (const StageId stage : stages_of_group[g]) {
      groups[stage.value].push_back(GroupId{static_cast<std::uint32_t>(g)});
    }
  }
}

GroupId GroupsOfStages::find(ActionKind kind, StageId stage, std::size_t earlier) const {
  const GroupOf group = rule_of(kind).collective.group;
  if (group == GroupOf::kNobody) return kNoGroup;
  const auto& groups = group == GroupOf::kTie   ? tied_
                       : group == GroupOf::kJob ? job_
                                                : data_parallel_;
  const std::vector<GroupId>& of_stage = groups[stage.value];
  return earlier < of_stage.size() ? of_stage[earlier] : kNoGroup;
}

}  // namespace penstock
