#include "morphing/slow_ranks.h"

#include <utility>

#include <doctest/doctest.h>

#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

std::vector<Duration> times(std::initializer_list<int> values) {
  std::vector<Duration> durations;
  for (const int value : values) durations.emplace_back(value);
  return durations;
}

// `predicted[p]` of the stages of pipeline rank p, on so many replicas; rank = replica * P + p.
std::vector<RankShare> shares_of(const std::vector<int>& predicted, int replicas) {
  std::vector<RankShare> shares;
  for (int d = 0; d < replicas; ++d) {
    for (std::size_t p = 0; p < predicted.size(); ++p) {
      shares.push_back({static_cast<int>(p), d, Duration{predicted[p]}});
    }
  }
  return shares;
}

SlowRule windows_of(int steps) {
  SlowRule rule;
  rule.window = steps;
  rule.warm_up = 0;
  return rule;
}

TEST_CASE("a GPU is slow that takes more than the median of the replicas of its stage") {
  // Varuna's example: 52, 53, 54, 64 ms. The median is 53.5, and 64 / 53.5 = 1.196.
  const std::vector<double> found = slowness(shares_of({40}, 4), times({52, 53, 54, 64}));
  CHECK(found[2] == doctest::Approx(54.0 / 53.5));
  CHECK(found[3] == doctest::Approx(64.0 / 53.5));
}

TEST_CASE("with fewer than three replicas times are compared by what the plan predicts") {
  // Four stages of 10, 20, 30, 40: all take twice as long as predicted but the third, 2.6 times.
  const std::vector<double> found = slowness(shares_of({10, 20, 30, 40}, 1),  //
                                             times({20, 40, 78, 80}));
  CHECK(found == std::vector<double>{1.0, 1.0, 1.3, 1.0});
  // Of two ranks by the lesser: the mean of both would call 1.3 times as long 1.13.
  CHECK(slowness(shares_of({10, 10}, 1), times({10, 13}))[1] == doctest::Approx(1.3));
  // Nothing to compare with.
  CHECK(slowness(shares_of({10}, 1), times({99})) == std::vector<double>{0.0});
  CHECK(slowness(shares_of({10, 10}, 1), times({0, 13})) == std::vector<double>{0.0, 0.0});
}

TEST_CASE("replicas that were given unequal shares are not slow for that") {
  // 9, 9, 8 and 6 micro-batches of 10.
  std::vector<RankShare> shares = shares_of({90}, 4);
  shares[2].predicted = Duration{80};
  shares[3].predicted = Duration{60};
  for (const double factor : slowness(shares, times({90, 90, 80, 60}))) CHECK(factor == 1.0);
}

TEST_CASE("two windows in a row make a rank slow, and two make it well") {
  SlowWatch watch(shares_of({10}, 4), windows_of(3));
  const std::vector<Duration> even = times({10, 10, 10, 10}), slow = times({10, 10, 10, 13});
  std::int64_t step = 0;
  const auto run = [&](const std::vector<Duration>& first, const std::vector<Duration>& second,
                       const std::vector<Duration>& third) {
    const bool early = watch.observe(step, first) || watch.observe(step + 1, second);
    CHECK_FALSE(early);
    step += 3;
    return watch.observe(step - 1, third);
  };
  CHECK_FALSE(run(even, slow, even));  // one pause is no sign
  CHECK_FALSE(run(slow, even, slow));  // steps 3 to 5: one window
  CHECK(watch.slow().empty());
  CHECK(run(slow, slow, slow));
  REQUIRE(watch.slow().size() == 1);
  RankSlowness expected;
  expected.rank = expected.replica = 3;
  expected.factor = 1.3;
  expected.replicas = 4;
  expected.since_step = 3;
  expected.seen_step = 8;
  CHECK(watch.slow()[0] == expected);
  CHECK_FALSE(run(even, even, even));
  CHECK_FALSE(run(slow, slow, slow));  // it was not well long enough
  CHECK(watch.slow()[0].since_step == 3);
  CHECK_FALSE(run(even, even, even));
  CHECK(run(even, even, even));
  CHECK(watch.slow().empty());
  CHECK(watch.windows() == 7);
}

TEST_CASE("what is slow on all replicas, or from the beginning, says so") {
  // One pipeline of four: a slow GPU cannot be told from a stage that is predicted too short.
  SlowRule rule = windows_of(1);
  rule.warm_up = 2;
  SlowWatch watch(shares_of({10, 10, 10, 10}, 1), rule);
  for (std::int64_t step = 0; step < 4; ++step) watch.observe(step, times({10, 10, 12, 10}));
  REQUIRE(watch.slow().size() == 1);
  const RankSlowness found = watch.slow()[0];
  CHECK(found.whole_stage);
  CHECK(found.from_start);
  CHECK(found.since_step == 2);
  CHECK(found.replicas == 0);
  CHECK(found.pipeline_rank == 2);
}

TEST_CASE("15 % more is not yet slow") {
  SlowWatch watch(shares_of({100}, 3), windows_of(1));
  for (std::int64_t step = 0; step < 9; ++step) {
    CHECK_FALSE(watch.observe(step, times({100, 100, 115})));
  }
  CHECK_FALSE(watch.observe(9, times({100, 100, 116})));
  CHECK(watch.observe(10, times({100, 100, 116})));
}

TEST_CASE("a step of another number of ranks is refused") {
  SlowWatch watch(shares_of({10}, 4));
  CHECK(tests::message_of([&] {
          watch.observe(7, times({1, 2}));
        }).find("step 7 says what 2 ranks computed, and the plan has 4") == 0);
}

TEST_CASE("the share of a rank is what its actions take") {
  // tiny_plan.h: two micro-batches of F 1 us and B 2 us on both ranks.
  const PlanFile plan = read_plan(parse_json(kTinyPlan, "tiny"), "tiny");
  const std::vector<RankShare> shares = rank_shares(plan);
  CHECK(shares == std::vector<RankShare>{{0, 0, Duration{6000}}, {1, 0, Duration{6000}}});
  // By the times of the actions, where the step says nothing else.
  MeasuredStep step;
  CHECK(rank_compute(plan, step).empty());
  for (int rank = 0; rank < 2; ++rank) {
    MeasuredRank& measured = step.ranks.emplace_back();
    measured.rank = measured.pipeline_rank = rank;
    for (const Action& action : plan.program.actions) {
      if (plan.program.rank_of(action).value != rank) continue;
      measured.start.emplace_back(0);
      measured.end.emplace_back(100 * (rank + 1));
    }
  }
  CHECK(rank_compute(plan, step) == times({400, 800}));  // F0, F1, B0, B1
  step.rank_compute = times({5, 6});
  CHECK(rank_compute(plan, step) == times({5, 6}));
}

}  // namespace
}  // namespace penstock
