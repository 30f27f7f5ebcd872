// Divides the recompute of one plan anew for any cuts: whatever does not depend on them is made
// once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/values/plan.h"
#include "search/divided_tables.h"
#include "search/evaluate.h"
#include "search/memory.h"
#include "search/prepared_plan.h"
#include "search/raised_sums.h"
#include "search/recompute_as_needed.h"
#include "simulator/held_counts.h"

namespace penstock {

class CutRecompute {
 public:
  // Keeps all of them by reference. `prepared`: of the plan with its mode in all sections.
  CutRecompute(const PlanInputs& inputs, const PreparedPlan& prepared, const HeldCounts& held,
               RecomputeRule rule);
  CutRecompute(const CutRecompute&) = delete;
  CutRecompute& operator=(const CutRecompute&) = delete;

  // False: there are no prices for sections that keep their activations.
  [[nodiscard]] bool is_possible() const { return as_needed_.has_value(); }
  // What full-size micro-batches take when nothing recomputes: no division takes less.
  [[nodiscard]] const RankSums& kept() const { return sums_->kept; }

  // Sets the mode and the sections of `plan`, whose cuts are set. False when it does not fit.
  bool divide(Plan& plan) const;
  // What a divided plan costs, of the mode in all sections from `recomputed`.
  [[nodiscard]] DividedTables tables_of(const Plan& plan, const RankTables& recomputed) const;
  // What the division of `plan` adds to the work of each rank, for one micro-batch.
  [[nodiscard]] std::vector<std::int64_t> added_work(const Plan& plan) const;

 private:
  const PreparedPlan& prepared_;
  PlanSums kept_plan_;
  RankTables kept_tables_{{}};
  std::optional<RaisedSums> raised_;
  std::optional<RecomputeSums> sums_;
  std::optional<TiedParameters> ties_;
  std::optional<StageMemory> memory_;
  std::optional<RecomputeAsNeeded> as_needed_;
};

}  // namespace penstock
