// Which group a collective of penstock.plan/2 belongs to. Used by write_plan() and read_plan()
// only.
#pragma once

#include <cstddef>
#include <vector>

#include "core/values/program.h"

namespace penstock {

// Names of collectives carry no group; it follows from kind and stage. A stage in several tied
// groups reduces them in the order of the Program's groups.
class GroupsOfStages {
 public:
  // [group]: the stages that take part.
  GroupsOfStages(const Program& program, const std::vector<std::vector<StageId>>& stages_of_group);

  // The group of the action of this kind that comes `earlier` others of the kind and stage after
  // the first; kNoGroup when there is none.
  [[nodiscard]] GroupId find(ActionKind kind, StageId stage, std::size_t earlier) const;

 private:
  std::vector<std::vector<GroupId>> data_parallel_, tied_, job_;  // [stage], ascending
};

}  // namespace penstock
