// Without anything to beat an arrangement is the oracle: what is to be beaten must not lose it.
#include "search/arrange_within.h"

#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "search/evaluation.h"
#include "tests/search/models.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// Four ranks with two stages each, 50 micro-batches. An activation takes 1,000 bytes, what is sent
// `boundary`; of both, rank r has room for limit[r] and for four buffers per stage.
struct Tight {
  Plan plan;
  StagePrices prices;
  std::vector<Bytes> capacity;

  Tight(const testing::RankCosts& costs, std::int64_t boundary, const std::vector<int>& limit)
      : prices(testing::equal_prices(8, 1, costs)) {
    plan.schedule = "zb-v-auto";
    plan.stage_map = StageMap::kV;
    plan.pipeline = 4;
    plan.chunks = 2;
    plan.global_batch = 50;
    plan.cuts = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    plan.device = "gpu";
    for (ComputePrice& price : prices.compute) {
      price.stash = Bytes{1000};
      price.weight_stash = Bytes{500};
      price.boundary = Bytes{boundary};
      price.recompute = {};
    }
    for (const int each : limit) capacity.push_back(Bytes{1000 * each + 8 * boundary});
  }

  [[nodiscard]] ArrangedWithin within(Duration slowest) const {
    PlanInputs inputs;
    return arrange_within(inputs, plan, prices, {}, false, Bytes{},
                          PerRank<Bytes>::of_each(capacity), slowest);
  }
  [[nodiscard]] Duration step(const ArrangedSchedules& arranged) const {
    const auto summary = summary_of(arranged, LoweringOptions{}, prices, {});
    REQUIRE(summary);
    return step_time_of(*summary, {});
  }
  // Of the lists whose buffers are not counted yet.
  [[nodiscard]] Duration first_try() const {
    return step(arrange_schedules(
        plan, prices, {},
        room_for_activations(plan, prices, Bytes{}, PerRank<Bytes>::of_each(capacity))));
  }
};

// The step without anything to beat, if anything fits.
std::optional<Duration> check_nothing_lost(const Tight& tight) {
  const ArrangedWithin found = tight.within(Duration::max());
  if (found.why_not) return std::nullopt;
  const Duration step = tight.step(found.arranged);
  const ArrangedWithin again = tight.within(step);
  REQUIRE_FALSE(again.arranged.is_beaten);
  REQUIRE_FALSE(again.why_not);
  CHECK(tight.step(again.arranged) == step);
  CHECK(again.fullest == found.fullest);
  // Nor is everything made that is of no use.
  CHECK(tight.within(step / 2).arranged.is_beaten);
  return step;
}

TEST_CASE("lists that are shorter in the room that buffers leave are not lost") {
  const Tight tight({14, 8, 8, 12}, 311, {8, 10, 9, 10});
  const auto step = check_nothing_lost(tight);
  REQUIRE(step);
  CHECK(tight.first_try() > *step);  // what this is about
}

TEST_CASE("what is to be beaten changes no arrangement that is as short") {
  Random random(3);
  for (int n = 0; n < testing::draws(300); ++n) {
    CAPTURE(n);
    const testing::RankCosts costs{random.between(8, 14), random.between(8, 18),
                                   random.between(3, 10), random.between(4, 12)};
    std::vector<int> limit;
    for (int rank = 0; rank < 4; ++rank) limit.push_back(random.between(8, 10));
    check_nothing_lost(Tight(costs, random.between(20, 900), limit));
  }
}

}  // namespace
}  // namespace penstock
