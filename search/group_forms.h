// Candidates of a group that do not fit as they are: with other cuts, or with as much recompute as
// memory asks for, whichever is faster (docs/search.md, "Recompute per stage").
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "search/choose_cuts.h"
#include "search/group_division.h"
#include "search/group_work.h"
#include "search/plan_program.h"

namespace penstock {

class GroupForms {
 public:
  explicit GroupForms(GroupWork& work) : work_(work) {}

  // False when the candidate may fit as it is cut best (by counts that are too small), or has no
  // other form.
  // `as_balanced`: the balanced cuts, if every rank then fits by these counts.
  bool try_as_needed(const ScheduleKind& kind, const Plan& plan, const std::vector<int>& balanced,
                     const HeldCounts& at_least, const Cuts& as_balanced, PlanCounts& counts);
  // Whether candidates of the schedule have such forms.
  [[nodiscard]] bool has_others(const ScheduleKind& kind) const {
    return !work_.over_memory && work_.division.serves(kind);
  }
  void try_forms(Plan plan, const std::vector<int>& balanced, const HeldCounts& held);

 private:
  struct Priced {
    const StagePricing* shared = nullptr;  // the group's
    std::optional<StagePricing> own{};     // or, with divided recompute, that of the form
    bool recomputes = false;
    [[nodiscard]] const StagePricing& pricing() const { return own ? *own : *shared; }
  };

  [[nodiscard]] bool loses_at_its_end(const Plan& form, const HeldCounts& held, Bytes memory);
  [[nodiscard]] bool least_may_matter(GroupDivision::Divided& form, const HeldCounts& at_least);
  [[nodiscard]] std::optional<bool> fits_but_is_too_slow(Plan plan, const StageMemory& memory,
                                                         const HeldCounts& at_least,
                                                         const std::vector<int>& balanced,
                                                         std::span<const Bytes> totals);
  [[nodiscard]] std::optional<bool> fits_but_loses_as_balanced(const Plan& plan,
                                                               const StageMemory& memory,
                                                               const HeldCounts& at_least,
                                                               std::span<const Bytes> totals);
  [[nodiscard]] std::optional<bool> fits_but_stages_are_slow(const Plan& plan,
                                                             const StageMemory& memory,
                                                             const HeldCounts& at_least,
                                                             const std::vector<int>& balanced);
  [[nodiscard]] bool loses_as_balanced(const Plan& plan, const HeldCounts& at_least,
                                       std::span<const Bytes> totals);
  [[nodiscard]] Priced priced(const Plan& plan);
  void reject_over_memory(Plan plan, const std::vector<int>& balanced, const Rejection& why);
  void change_all_for_trainer(std::vector<GroupDivision::Divided>& forms, const HeldCounts& held);
  void try_one_of(const std::vector<GroupDivision::Divided>& forms, const HeldCounts& held);

  GroupWork& work_;
};

}  // namespace penstock
