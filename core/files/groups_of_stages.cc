#include "core/files/groups_of_stages.h"

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
  if (!is_collective(kind)) return kNoGroup;
  const auto& groups = kind == ActionKind::kTiedReduce ? tied_
                       : kind == ActionKind::kNorm     ? job_
                                                       : data_parallel_;
  const std::vector<GroupId>& of_stage = groups[stage.value];
  return earlier < of_stage.size() ? of_stage[earlier] : kNoGroup;
}

}  // namespace penstock
