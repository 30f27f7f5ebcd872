// Candidates of a group whose schedule is worked out for one plan: automatic ones and run-time
// rules.
#pragma once

#include <vector>

#include "search/group_work.h"

namespace penstock {

class GroupArranged {
 public:
  explicit GroupArranged(GroupWork& work) : work_(work) {}

  // Cut by what a static schedule of the same placement holds, then bounded by what any order
  // within the memory takes.
  void run(const ScheduleKind& kind, Plan& plan, const std::vector<int>& balanced);

 private:
  [[nodiscard]] bool loses_at_its_end(const ScheduleKind& kind, const RankSums& sums,
                                      const Plan& plan);
  void try_candidate(const ScheduleKind& kind, const Plan& plan);

  GroupWork& work_;
};

}  // namespace penstock
