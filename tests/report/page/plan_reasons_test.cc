#include "report/page/plan_reasons.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

struct Side {
  Plan plan;
  Evaluation evaluation;
};

// One rank; the makespan is the sum of the parts.
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

Side side(const RankTime& time, std::int64_t memory = 2 * kGiB) {
  Side made;
  made.plan.global_batch = 8;
  RankEvaluation rank;
  rank.time = time;
  rank.memory.stash = Bytes{memory};
  made.evaluation.ranks.push_back(rank);
  made.evaluation.makespan = time.busy + time.warm_up + time.drain + time.imbalance + time.order +
                             time.transfer + time.barrier;
  made.evaluation.step_time = made.evaluation.makespan;
  return made;
}

std::string reason(const Side& first, const Side& plan) {
  return reason_behind(first.plan, first.evaluation, plan.plan, plan.evaluation);
}

constexpr Duration operator""_ms(unsigned long long count) {
  return Duration{static_cast<std::int64_t>(count) * 1'000'000};
}

const Side kFirst = side({.busy = 90_ms, .warm_up = 5_ms, .transfer = 4_ms, .barrier = 1_ms});

// 112 ms against 100: 10 ms of them are waits for other ranks (15 of 112 are 13.4 %), 2 a transfer.
TEST_CASE("the part that grew most is the reason") {
  const Side plan =
      side({.busy = 90_ms, .warm_up = 5_ms, .drain = 10_ms, .transfer = 6_ms, .barrier = 1_ms});
  CHECK(reason(kFirst, plan) ==
        "12.0 % slower than plan 1: longer waits for other ranks (13.4 % of the step instead of "
        "5.0 %)");
}

TEST_CASE("a second part is named when it is at least half as large") {
  const Side plan = side({.busy = 90_ms, .warm_up = 5_ms, .transfer = 8_ms, .barrier = 3_ms});
  CHECK(reason(kFirst, plan) ==
        "6.0 % slower than plan 1: longer waits for pipeline transfers (8 ms instead of 4 ms), "
        "longer "
        "waits for reductions and the optimizer (3 ms instead of 1 ms)");
}

TEST_CASE("more compute is explained by what was decided otherwise") {
  Side plan = side({.busy = 120_ms, .warm_up = 5_ms, .transfer = 4_ms, .barrier = 1_ms}, kGiB);
  plan.plan.recompute = "full";
  CHECK(reason(kFirst, plan) ==
        "30.0 % slower than plan 1: more compute on the busiest rank (120 ms instead of 90 ms; "
        "recompute full instead of none); needs 1.0 GiB less");
  Side fewer = plan;
  Side first = kFirst;
  first.plan.data = 4;
  fewer.plan.data = 2;
  CHECK(
      reason(first, fewer).starts_with("30.0 % slower than plan 1: fewer GPUs (2 instead of 4);"));
}

// 80 ms in place of 100: 20 % faster.
TEST_CASE("a plan may be faster than plan 1, when it was not searched") {
  const Side plan = side({.busy = 75_ms, .transfer = 4_ms, .barrier = 1_ms});
  CHECK(reason(kFirst, plan) ==
        "20.0 % faster than plan 1: less compute on the busiest rank (75 ms instead of 90 ms)");
}

TEST_CASE("equal steps, other batches and unpriced plans have their own words") {
  CHECK(reason(kFirst, kFirst) == "as fast as plan 1");
  Side plan = kFirst;
  plan.plan.global_batch = 4;
  CHECK(reason(kFirst, plan) ==
        "answers another question: gbs 4 instead of 8; its samples take 2.000 times as long");
  CHECK(reason(kFirst, {}).empty());
}

}  // namespace
}  // namespace penstock
