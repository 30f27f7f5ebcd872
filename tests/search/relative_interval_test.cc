#include "search/relative_interval.h"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

RankedPlan ranked(const std::string& schedule, int micro_batch_size, Duration step) {
  RankedPlan one;
  one.plan.schedule = schedule;
  one.plan.pipeline = 4;
  one.plan.micro_batch_size = micro_batch_size;
  one.plan.global_batch = 64;
  one.plan.device = "gpu";
  one.plan.cuts = {0, 1, 2, 3, 4};
  one.evaluation.step_time = step;
  one.evaluation.step_time_low = step - step / 10;
  one.evaluation.step_time_high = step + step / 5;
  return one;
}

double squares(double a, double b) { return std::sqrt(a * a + b * b); }

TEST_CASE("plans compare by what they differ in, and what they share cancels") {
  const RankedPlan plan = ranked("1f1b", 2, Duration{1000});
  CHECK(relative_half_width(plan, plan) == 0.0);
  RankedPlan other = plan;
  other.plan.data = 2;
  CHECK(relative_half_width(plan, other) == doctest::Approx(0.04));
  CHECK(relative_half_width(plan, ranked("zb-h1", 2, Duration{900})) ==
        doctest::Approx(squares(0.04, 0.085)));
  CHECK(relative_half_width(plan, ranked("1f1b", 1, Duration{900})) ==
        doctest::Approx(squares(0.04, 0.05)));
  other.plan.device = "another";
  CHECK(relative_half_width(plan, other) == doctest::Approx(squares(0.2, 0.2)));
}

TEST_CASE("a plan ties with the fastest when it is behind by no more than that") {
  std::vector<RankedPlan> plans{
      ranked("1f1b", 2, Duration{1000}), ranked("zb-h1", 2, Duration{1093}),
      ranked("zb-h1", 2, Duration{1095}), ranked("1f1b", 1, Duration{1095}),
      ranked("zb-h1", 2, Duration{1094})};
  compare_with_best(plans);
  CHECK(plans[0].against_best == 0.0);
  CHECK_FALSE(plans[0].tied_with_best);
  CHECK(plans[1].tied_with_best);  // 9.39 %
  CHECK_FALSE(plans[2].tied_with_best);
  CHECK_FALSE(plans[3].tied_with_best);  // 6.4 %
  CHECK(plans[4].tied_with_best);        // 93.9 ns, rounded up: just as far behind is not slower
}

}  // namespace
}  // namespace penstock
