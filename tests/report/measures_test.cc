#include "report/measures.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

TEST_CASE("the bubble is what the whole has beyond the busiest rank's work") {
  CHECK(bubble_rate(Duration(100), Duration(90)) == doctest::Approx(0.1));
  CHECK(bubble_rate(Duration(0), Duration(0)) == 0.0);
}

TEST_CASE("rates follow from the batch and the step") {
  Plan plan = tests::plan();  // 20 samples in 0.1 s
  CHECK(samples_per_second(plan, tests::evaluation().step_time) == 200.0);
  CHECK(tokens_per_second(plan, tests::evaluation().step_time) == 0.0);
  plan.sequence_length = 1000;
  CHECK(tokens_per_second(plan, tests::evaluation().step_time) == 200'000.0);
  CHECK(samples_per_second(plan, Duration{}) == 0.0);
}

TEST_CASE("a price per token needs a price and tokens") {
  Plan plan = tests::plan();
  Evaluation evaluation = tests::evaluation();
  evaluation.usd_per_step = 0.5;
  CHECK(usd_per_million_tokens(plan, evaluation) == 0.0);
  plan.sequence_length = 50'000;  // 20 samples of 50,000 tokens are a million
  CHECK(usd_per_million_tokens(plan, evaluation) == 0.5);
}

TEST_CASE("micro-batches are those of the fullest replica, the short one included") {
  CHECK(micro_batches_of(tests::plan()) == 4);  // 7 samples in twos
}

TEST_CASE("an uneven interval counts with its wider half") {
  Evaluation evaluation = tests::evaluation();
  CHECK(relative_uncertainty(evaluation) == 0.05);
  evaluation.step_time_low = Duration(80'000'000);
  CHECK(relative_uncertainty(evaluation) == 0.2);
}

TEST_CASE("the busiest and the tightest rank; the first of several") {
  Evaluation evaluation = tests::evaluation();
  CHECK(busiest_rank(evaluation) == 1);
  CHECK(tightest_rank(evaluation) == 0);
  evaluation.ranks = {tests::rank(50, 10), tests::rank(50, 10)};
  CHECK(busiest_rank(evaluation) == 0);
  CHECK(tightest_rank(evaluation) == 0);
}

// 80 and 90 ms of work in 100 ms: the two ranks idle 20 and 10 ms.
TEST_CASE("idle time is that of all ranks") {
  CHECK(idle_share(tests::plan(), tests::evaluation()) == doctest::Approx(0.15));
  Plan unequal = tests::plan();  // the first rank three times, the second once
  unequal.pipeline = 1;
  unequal.data = 4;
  unequal.replica_kinds = {{3, 2}, {1, 2}};
  CHECK(idle_share(unequal, tests::evaluation()) == doctest::Approx(0.175));
  CHECK(idle_share(tests::plan(), Evaluation{}) == 0.0);
}
