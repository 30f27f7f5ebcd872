// Replays one plan with other cuts, like CutReplay; where a plan of mode "none" does not fit with
// some cuts, it recomputes as needed there.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/values/plan.h"
#include "search/cut_replay.h"
#include "search/evaluate.h"
#include "search/recompute_as_needed.h"

namespace penstock {

class CutForms {
 public:
  // Keeps `inputs` by reference. `modes`: those that the recompute may be divided by.
  CutForms(const PlanInputs& inputs, const Plan& plan, RecomputeRule rule,
           std::vector<std::string> modes);

  struct Result {
    CutReplay::Result replayed;
    std::size_t form = 0;  // 0: the plan as it was given
  };
  // Of the plan as it was given.
  std::optional<Result> run(const std::vector<int>& cuts,
                            CutReplay::Tells tells = CutReplay::Tells::kStep,
                            Duration slowest = Duration::max());
  // Where that does not fit, of the fastest division; nothing when none fits.
  std::optional<Result> run_any(const std::vector<int>& cuts);

  [[nodiscard]] CutReplay& given() { return given_; }
  [[nodiscard]] const CutReplay& given() const { return given_; }
  [[nodiscard]] const CutReplay& of(std::size_t form) const {
    return form == 0 ? given_ : *divided_[form - 1];
  }

 private:
  void make_divided();

  const PlanInputs& inputs_;
  const RecomputeRule rule_;
  CutReplay given_;
  std::vector<std::string> modes_;  // whose replays are yet to be made
  std::vector<std::unique_ptr<CutReplay>> divided_;
};

}  // namespace penstock
