// Another plan for every step, each a new value: plans take turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime_bridge/program_source.h"

namespace penstock::testing {

// Asked by the threads of all ranks.
class PlanPerStep : public ProgramSource {
 public:
  explicit PlanPerStep(std::vector<PlanFile> plans) : plans_(std::move(plans)) {}
  PlanForSteps plan_from(std::int64_t step) override {
    const std::lock_guard lock(mutex_);
    auto& plan = made_[step];
    if (plan == nullptr) {
      const std::size_t turn = static_cast<std::size_t>(step) % plans_.size();
      plan = std::make_shared<const PlanFile>(plans_[turn]);
    }
    return {plan, step + 1};
  }

 private:
  std::vector<PlanFile> plans_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const PlanFile>> made_;
};

}  // namespace penstock::testing
