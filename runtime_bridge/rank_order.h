// The order in which a rank carries out its list: as it stands, or as Varuna's rule changes it
// while the step runs (docs/schedules.md, "Varuna"). Private to runtime_bridge/.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/values/rule_facts.h"
#include "runtime_bridge/rank_program.h"

namespace penstock {

class RankOrder {
 public:
  // Error{kBadInput} for a rule that is not supported.
  explicit RankOrder(const RankProgram& program);

  void begin();  // of a step: the order of the list
  // Indices into RankProgram::actions.
  [[nodiscard]] const std::vector<int>& list() const { return order_; }

  // Before the action at place `at` is carried out: if that is a recompute whose gradient has not
  // arrived, the next forward and its send move in front of it, for good.
  void decide(std::size_t at, const std::function<bool(int receive)>& has_arrived);
  // Whether a compute action waits for its receive: a recompute of Varuna's runtime does not, it
  // only lets forwards go first.
  [[nodiscard]] bool waits(const RankAction& action) const {
    return !(facts_of(rule_).recomputes_early && action.kind == ActionKind::kRecompute);
  }

 private:
  const std::vector<RankAction>& actions_;
  RunTimeRule rule_;
  std::vector<int> order_;
};

}  // namespace penstock
