// Where a run's plans come from: a file today, plans that change while the run goes on later.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/values/plan_file.h"

namespace penstock {

inline constexpr std::int64_t kNeverEnds = std::numeric_limits<std::int64_t>::max();

// A plan and the steps it holds for.
struct PlanForSteps {
  std::shared_ptr<const PlanFile> plan;
  std::int64_t end_step = kNeverEnds;  // the first step that it does not hold for
};

class ProgramSource {
 public:
  virtual ~ProgramSource() = default;
  // The plan that `step` runs under: the same for every rank that asks, with the same end. Asked by
  // one thread per rank.
  [[nodiscard]] virtual PlanForSteps plan_from(std::int64_t step) = 0;
};

// One plan for all steps.
class OnePlan : public ProgramSource {
 public:
  explicit OnePlan(std::shared_ptr<const PlanFile> plan);
  [[nodiscard]] PlanForSteps plan_from(std::int64_t step) override;

 private:
  std::shared_ptr<const PlanFile> plan_;
};

}  // namespace penstock
