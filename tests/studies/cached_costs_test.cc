// Costs that are kept: each shape is asked for once, and a price that could not be had is asked for
// again.
#include "studies/cached_costs.h"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// What was asked for, and whether the next question fails.
struct Asked {
  std::vector<MicroBatchShape> shapes;
  bool fails = false;
};

// Two stages: a forward takes as many ns as tokens on the first, twice as many on the second.
class CostsByTokens : public ShapeCosts {
 public:
  explicit CostsByTokens(Asked& asked) : asked_(asked) {}

  [[nodiscard]] std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& shapes) const override {
    note(shapes);
    std::vector<ShapeCost> costs(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      costs[i].prices.compute.resize(2);
      for (const int stage : {0, 1}) {
        costs[i].prices.compute[static_cast<std::size_t>(stage)].forward.duration =
            Duration{shapes[i].tokens * (stage + 1)};
      }
    }
    return costs;
  }
  [[nodiscard]] ShapeLoads loads_of(const std::vector<MicroBatchShape>& shapes) const override {
    note(shapes);
    ShapeLoads found;
    found.shapes.resize(shapes.size());
    for (const MicroBatchShape& shape : shapes) {
      for (const int stage : {0, 1}) {
        found.loads.emplace_back().forward = Duration{shape.tokens * (stage + 1)};
      }
    }
    return found;
  }
  [[nodiscard]] StagePricing step_pricing() const override {
    StagePricing pricing;
    pricing.prices.stages = 2;
    return pricing;
  }
  [[nodiscard]] StagePricing prices_of(const Plan& /*plan*/) const override {
    return step_pricing();
  }

 private:
  void note(const std::vector<MicroBatchShape>& shapes) const {
    asked_.shapes.insert(asked_.shapes.end(), shapes.begin(), shapes.end());
    if (std::exchange(asked_.fails, false)) throw std::runtime_error("the estimate failed");
  }

  Asked& asked_;
};

const MicroBatchShape kShort{1, 10, 0}, kLong{1, 30, 0}, kPair{2, 20, 0};

// The forwards of both stages, shape by shape.
using Forwards = std::vector<std::int64_t>;

Forwards costs(const CachedCosts& cached, const std::vector<MicroBatchShape>& shapes) {
  Forwards forwards;
  for (const ShapeCost& cost : cached.costs_of(shapes)) {
    for (const ComputePrice& price : cost.prices.compute) {
      forwards.push_back(price.forward.duration.count());
    }
  }
  return forwards;
}

Forwards loads(const CachedCosts& cached, const std::vector<MicroBatchShape>& shapes) {
  const ShapeLoads found = cached.loads_of(shapes);
  Forwards forwards;
  for (const StageLoad& load : found.loads) forwards.push_back(load.forward.count());
  return forwards;
}

// Short, long, short: 10 and 20 ns, 30 and 60 ns, 10 and 20 ns; the short one is asked for once.
// Then the pair is new: 20 and 40 ns.
void asks_once_and_again_after_a_failure(Forwards (*of)(const CachedCosts&,
                                                        const std::vector<MicroBatchShape>&)) {
  Asked asked;
  const CachedCosts cached(std::make_unique<CostsByTokens>(asked));
  asked.fails = true;
  CHECK_THROWS_WITH_AS((void)of(cached, {kShort, kLong, kShort}), "the estimate failed",
                       std::runtime_error);
  CHECK(asked.shapes == std::vector{kShort, kLong});
  // Nobody finds an empty entry: what failed is asked for again, and then is known.
  CHECK(of(cached, {kShort, kLong, kShort}) == Forwards{10, 20, 30, 60, 10, 20});
  CHECK(asked.shapes == std::vector{kShort, kLong, kShort, kLong});
  // Of a question that fails, what was known before stays known.
  asked.fails = true;
  CHECK_THROWS_AS((void)of(cached, {kLong, kPair}), std::runtime_error);
  CHECK(of(cached, {kPair, kLong}) == Forwards{20, 40, 30, 60});
  CHECK(asked.shapes == std::vector{kShort, kLong, kShort, kLong, kPair, kPair});
}

TEST_CASE("a price that throws is asked for again, and one that is known never") {
  asks_once_and_again_after_a_failure(costs);
}

TEST_CASE("loads that throw are asked for again, and those that are known never") {
  asks_once_and_again_after_a_failure(loads);
}

}  // namespace
}  // namespace penstock
