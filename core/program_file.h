// The member "program" of penstock.plan/1. Used by write_plan() and read_plan() only.
#pragma once

#include <cstdint>
#include <vector>

#include "core/json.h"
#include "core/json_reader.h"
#include "core/program.h"

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

// Error{kInternal} for a Program that does not follow the conventions of the format.
Json write_program(const Program& program);
// Error{kBadInput} for anything malformed.
Program read_program(JsonReader reader);

// No file stands for more actions than this: 4 GiB of them, and several times that while reading.
inline constexpr std::uint64_t kMostActions = std::uint64_t{1} << 28;

}  // namespace penstock
