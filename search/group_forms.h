// Candidates of a group that do not fit as they are: with other cuts, or with as much recompute as
// memory asks for, whichever is faster (docs/search.md, "Recompute per stage").
#pragma once

#include <optional>
#include <vector>

#include "search/group_division.h"
#include "search/group_work.h"
#include "search/plan_program.h"

namespace penstock {

class GroupForms {
 public:
  explicit GroupForms(GroupWork& work) : work_(work) {}

  // False when the candidate may fit as it is cut best (by counts that are too small), or has no
  // other form.
  bool try_as_needed(const ScheduleKind& kind, const Plan& plan, const std::vector<int>& balanced,
                     const HeldCounts& at_least, PlanCounts& counts);
  // By exact counts, though it may by those that are too small.
  [[nodiscard]] bool does_not_fit(const ScheduleKind& kind, const Plan& plan,
                                  const std::vector<int>& balanced, const HeldCounts& held) const;
  void try_forms(Plan plan, const std::vector<int>& balanced, const HeldCounts& held);

 private:
  struct Priced {
    StagePricing pricing;
    bool recomputes = false;
  };

  [[nodiscard]] std::optional<bool> fits_but_is_too_slow(Plan plan, const StageMemory& memory,
                                                         const HeldCounts& at_least,
                                                         const std::vector<int>& balanced);
  [[nodiscard]] std::optional<bool> fits_but_loses_as_balanced(const Plan& plan,
                                                               const StageMemory& memory,
                                                               const HeldCounts& at_least);
  [[nodiscard]] bool slowest_stages_lose(const Plan& plan, const StageMemory& memory,
                                         const HeldCounts& at_least);
  [[nodiscard]] Priced priced(const Plan& plan);
  void reject_over_memory(Plan plan, const std::vector<int>& balanced, const Rejection& why);
  void change_all_for_trainer(std::vector<GroupDivision::Divided>& forms, const HeldCounts& held);
  void try_one_of(const std::vector<GroupDivision::Divided>& forms, const HeldCounts& held);

  GroupWork& work_;
};

}  // namespace penstock
