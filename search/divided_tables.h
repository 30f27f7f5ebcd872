// The section tables of a plan of which some sections recompute.
#pragma once

#include <vector>

#include "core/values/plan.h"
#include "costmodel/price_stages.h"

namespace penstock {

// From the tables of its mode and those of mode "none", raised as RaisedSums where its recompute is
// divided.
class DividedTables {
 public:
  DividedTables(const RankTables& recomputed, const RankTables& kept, const Plan& plan);
  // Points into it.
  [[nodiscard]] const RankTables& tables() const { return tables_; }
  [[nodiscard]] bool recomputes() const { return recomputes_; }

 private:
  std::vector<std::vector<SectionTable>> merged_;  // per run of ranks on one type, per shape
  RankTables tables_{{}};
  bool recomputes_ = false;
};

}  // namespace penstock
