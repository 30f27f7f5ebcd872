// Costs of shapes that are asked for by one batch after the other: each is worked out once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "search/dynamic/shape_costs.h"

namespace penstock {

class CachedCosts : public ShapeCosts {
 public:
  explicit CachedCosts(std::unique_ptr<ShapeCosts> costs)
      : costs_(std::move(costs)),
        stages_(static_cast<std::size_t>(costs_->step_pricing().prices.stages)) {}

  [[nodiscard]] std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& shapes) const override;
  [[nodiscard]] ShapeLoads loads_of(const std::vector<MicroBatchShape>& shapes) const override;
  [[nodiscard]] bool bytes_grow_with_samples() const override {
    return costs_->bytes_grow_with_samples();
  }
  [[nodiscard]] StagePricing step_pricing() const override { return costs_->step_pricing(); }
  [[nodiscard]] StagePricing prices_of(const Plan& plan) const override {
    return costs_->prices_of(plan);
  }

 private:
  using Key = std::tuple<int, int, int>;
  void append(ShapeLoads found) const;

  std::unique_ptr<ShapeCosts> costs_;
  std::size_t stages_;
  mutable std::mutex mutex_;
  mutable std::map<Key, ShapeCost> known_;  // entries stay where they are
  // Looked up, never walked.
  mutable std::unordered_map<std::uint64_t, std::size_t> load_places_;
  mutable ShapeLoads loads_;
};

}  // namespace penstock
