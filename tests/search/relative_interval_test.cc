#include "search/relative_interval.h"

#include <cmath>
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
  const ClusterSpec cluster;
  const PlanInputs inputs{nullptr, &cluster, {}, std::nullopt};
  const RankedPlan plan = ranked("1f1b", 2, Duration{1000});
  CHECK(relative_half_width(inputs, plan, plan) == 0.0);
  RankedPlan other = plan;
  other.plan.data = 2;
  CHECK(relative_half_width(inputs, plan, other) == doctest::Approx(0.04));
  CHECK(relative_half_width(inputs, plan, ranked("zb-h1", 2, Duration{900})) ==
        doctest::Approx(squares(0.04, 0.085)));
  CHECK(relative_half_width(inputs, plan, ranked("1f1b", 1, Duration{900})) ==
        doctest::Approx(squares(0.04, 0.05)));
  other.plan.device = "another";
  CHECK(relative_half_width(inputs, plan, other) == doctest::Approx(squares(0.2, 0.2)));
}

TEST_CASE(
    "runs make a comparison surer where they know what the plans differ in, never less sure") {
  ClusterSpec cluster;
  cluster.calibration = Calibration();
  Posterior posterior;
  posterior.covariance.assign(kStepTerms * kStepTerms, 0.0);
  posterior.covariance[0] = 0.3 * 0.3;                   // compute, which both answer to alike
  posterior.covariance[3 * kStepTerms + 3] = 1e6 * 1e6;  // per action, in ns
  posterior.degrees = 1000;
  cluster.calibration->posterior = posterior;
  const PlanInputs inputs{nullptr, &cluster, {}, std::nullopt};
  RankedPlan plan = ranked("1f1b", 2, Duration{1000});
  RankedPlan other = ranked("zb-h1", 2, Duration{900});
  plan.log_slopes = {1.0, 0.0, 0.0, 2e-8, 0.0, 0.0};
  other.log_slopes = {1.0, 0.0, 0.0, 3e-8, 0.0, 0.0};
  CHECK(relative_half_width(inputs, plan, other) ==
        doctest::Approx(squares(0.04, 1.645 * 0.01)).epsilon(1e-2));
  other.log_slopes[3] = 3e-7;
  CHECK(relative_half_width(inputs, plan, other) == doctest::Approx(squares(0.04, 0.085)));
}

TEST_CASE("a plan ties with the fastest when it is behind by no more than that") {
  const ClusterSpec cluster;
  const PlanInputs inputs{nullptr, &cluster, {}, std::nullopt};
  std::vector<RankedPlan> plans{
      ranked("1f1b", 2, Duration{1000}), ranked("zb-h1", 2, Duration{1093}),
      ranked("zb-h1", 2, Duration{1095}), ranked("1f1b", 1, Duration{1095})};
  compare_with_best(inputs, plans);
  CHECK(plans[0].against_best == 0.0);
  CHECK_FALSE(plans[0].tied_with_best);
  CHECK(plans[1].tied_with_best);  // 9.39 %
  CHECK_FALSE(plans[2].tied_with_best);
  CHECK_FALSE(plans[3].tied_with_best);  // 6.4 %
}

}  // namespace
}  // namespace penstock
