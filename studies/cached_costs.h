// Costs of shapes that are asked for by one batch after the other: each is worked out once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "search/dynamic/shape_costs.h"

namespace penstock {

class CachedCosts : public ShapeCosts {
 public:
  explicit CachedCosts(std::unique_ptr<ShapeCosts> costs) : costs_(std::move(costs)) {}

  [[nodiscard]] std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& shapes) const override;
  [[nodiscard]] bool bytes_grow_with_samples() const override {
    return costs_->bytes_grow_with_samples();
  }
  [[nodiscard]] StagePricing step_pricing() const override { return costs_->step_pricing(); }
  [[nodiscard]] StagePricing prices_of(const Plan& plan) const override {
    return costs_->prices_of(plan);
  }

 private:
  using Key = std::tuple<int, int, int>;

  std::unique_ptr<ShapeCosts> costs_;
  mutable std::mutex mutex_;
  mutable std::map<Key, ShapeCost> known_;  // entries stay where they are
};

}  // namespace penstock
