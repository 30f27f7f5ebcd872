// The one-pass replay against lowering, engine and the sum of what is held.
#include "search/dynamic/list_replay.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/lower.h"
#include "simulator/pool_peaks.h"
#include "simulator/simulate.h"
#include "simulator/stash_bytes.h"
#include "tests/search/dynamic/toy_costs.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Random;

// Prices that have nothing to do with each other.
class RandomCosts : public ShapeCosts {
 public:
  RandomCosts(int stages, int shapes, std::uint64_t seed) {
    Random random(seed);
    prices_ = testing::random_prices(random, stages, shapes);
  }
  [[nodiscard]] std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& asked) const override {
    std::vector<ShapeCost> costs;
    for (const MicroBatchShape& shape : asked) {
      StagePrices& prices = costs.emplace_back().prices;
      prices.stages = prices_.stages;
      for (int s = 0; s < prices_.stages; ++s) {
        prices.compute.push_back(prices_.compute_of(s, shape.samples - 1));
        prices.transfer.push_back(prices_.transfer_of(s, shape.samples - 1));
      }
    }
    return costs;
  }
  [[nodiscard]] StagePricing step_pricing() const override {
    StagePricing pricing;
    pricing.prices.stages = prices_.stages;
    pricing.prices.step = prices_.step;
    return pricing;
  }
  [[nodiscard]] StagePricing prices_of(const Plan& /*plan*/) const override {
    return {prices_, {}, {}, {}};
  }
  [[nodiscard]] const StagePrices& prices() const { return prices_; }

 private:
  StagePrices prices_;
};

// The end of the last backward of any stage.
Duration end_of_backwards(const Program& program, const Timeline& timeline) {
  Duration end{};
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    if (completes_gradient(program.actions[i].kind)) {
      end = std::max(end, timeline.end[i].time_since_epoch());
    }
  }
  return end;
}

}  // namespace

TEST_CASE("times and bytes are those of the lowered Program, whatever the shapes") {
  Random random(13);
  constexpr const char* kNames[] = {"1f1b",   "zb-h1",    "zb-h2", "gpipe",         "interleaved",
                                    "cyclic", "cyclic-v", "zb-v",  "interleaved-zb"};
  int replayed = 0;
  for (int i = 0; i < testing::draws(600); ++i) {
    CAPTURE(i);
    const ScheduleKind& kind = *find_schedule(kNames[i % 9]);
    Plan layout = testing::toy_layout(random.between(1, 6));
    layout.chunks =
        kind.most_chunks == 0 ? random.between(kind.fewest_chunks, 3) : kind.fewest_chunks;
    layout.stage_map = kind.map;
    const int count = random.between(1, 12), shapes = random.between(1, 5);
    const ScheduleShape shape{layout.pipeline, layout.chunks, count, 0, 1};
    if (!why_no_schedule(kind, shape).empty()) continue;
    ++replayed;
    const RandomCosts costs(layout.stages(), shapes, 1000 + static_cast<std::uint64_t>(i));
    ExecutorModel executor;
    executor.per_action = Duration{random.between(0, 50)};
    executor.per_transfer = Duration{random.between(0, 50)};
    const bool recomputes = random.coin();

    ShapeTable table(costs, layout, executor, Bytes{1 << 30}, Bytes{});
    std::vector<int> ids;
    PipelineInput input{kind.generate(shape), {}, 1};
    for (int m = 0; m < count; ++m) {
      const int of = random.between(1, shapes);
      ids.push_back(table.id_of({of, 8, 0}));
      input.micro_batches.push_back({of, 8, of - 1, 0});
    }
    table.price(ids);
    ReplayCosts replay_costs(layout, executor, recomputes);
    replay_costs.add(table, ids);
    const std::vector<std::int64_t> no_tail(static_cast<std::size_t>(layout.stages()), 0);
    ListReplay replay(input.schedule);
    // Bounded, it tells the end where that is not too late, and else that it is.
    std::vector<std::int64_t> tail;
    for (int s = 0; s < layout.stages(); ++s) tail.push_back(random.between(0, 500));
    const std::int64_t end = replay.run(replay_costs, ids, tail).end_ns;
    for (const std::int64_t later : {-1, 0, 1, random.between(-2'000, 2'000)}) {
      const std::int64_t told = replay.end_ns(replay_costs, ids, tail, end + later);
      REQUIRE((later < 0 ? told > end + later : told == end));
    }
    const ListReplayResult& result = replay.run(replay_costs, ids, no_tail);

    LoweringOptions options;
    options.recompute = recomputes;
    const Program program = lower({input}, options);
    const Timeline timeline = simulate(program, costs.prices(), executor);
    REQUIRE(Duration{result.end_ns} == end_of_backwards(program, timeline));
    const std::vector<Bytes> stash = peak_stash_bytes(program, costs.prices());
    const std::vector<PoolPeaks> pools = pool_peaks(program, costs.prices(), 1);
    for (std::size_t r = 0; r < stash.size(); ++r) {
      REQUIRE(Bytes{result.stash[r]} == stash[r]);
      REQUIRE(Bytes{result.communication[r]} == pools[r].communication);
    }
  }
  CHECK(replayed > testing::least(400));
}

TEST_CASE("what follows the last gradient of a stage counts") {
  // One rank, one micro-batch: F 1,800 ns (1,000 + 8 * 100), B 3,600; then 500.
  const Plan layout = testing::toy_layout(1);
  const testing::ToyCosts costs(layout, {});
  ShapeTable table(costs, layout, {}, Bytes{1 << 20}, Bytes{});
  const std::vector<int> ids{table.id_of({1, 8, 0})};
  table.price(ids);
  ReplayCosts replay_costs(layout, {}, false);
  replay_costs.add(table, ids);
  ListReplay replay(find_schedule("1f1b")->generate({1, 1, 1, 0, 1}));
  const std::vector<std::int64_t> tail{500};
  CHECK(replay.run(replay_costs, ids, tail).end_ns == 1800 + 3600 + 500);
}

TEST_CASE("a micro-batch takes the executor's cost for each of its actions, a recompute's too") {
  // F 1,800 ns, B 3,600, R 8 * 50; 10 for each action.
  const Plan layout = testing::toy_layout(1);
  ExecutorModel executor;
  executor.per_action = Duration{10};
  const auto time_of = [&](std::int64_t recompute_ns) {
    testing::ToyNumbers numbers;
    numbers.recompute_ns = recompute_ns;
    const testing::ToyCosts costs(layout, numbers);
    ShapeTable table(costs, layout, executor, Bytes{1 << 20}, Bytes{});
    return table.at(table.id_of({1, 8, 0})).time_ns;
  };
  CHECK(time_of(0) == 1810 + 3610);
  CHECK(time_of(50) == 1810 + 3610 + 410);
}

}  // namespace penstock
