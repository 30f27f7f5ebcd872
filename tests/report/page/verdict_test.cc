#include "report/page/verdict.h"

#include <doctest/doctest.h>

#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

// tests/core/tiny_plan.h: 2 samples in 10,110 ns are 197,824 samples/s; rank 0 holds 300 of 1,000
// B.
TEST_CASE("the verdict says what to do, how fast it is and what is left") {
  PlanFile plan = tiny_plan();
  plan.prediction.step_time = plan.prediction.step_time_low = plan.prediction.step_time_high =
      Duration{10'110};
  CHECK(verdict_text(plan.plan, plan.prediction) ==
        "Train on 2 GPUs with TP 1 x PP 2 x DP 1, mbs 1, 2 micro-batches, 1f1b, no recompute: "
        "10.11 us a step (10.11 us to 10.11 us), 197,824 samples/s; fits, with 700 B left on rank "
        "0.");
}

TEST_CASE("a plan over memory does not fit, by so many bytes") {
  PlanFile plan = tiny_plan();
  plan.prediction.ranks.at(1).capacity = Bytes{200};
  CHECK(verdict_text(plan.plan, plan.prediction)
            .ends_with("; does not fit: rank 1 is over memory by 31 B."));
}

TEST_CASE("confidence follows from the error bar and from what the times were fitted to") {
  Evaluation evaluation = tiny_plan().prediction;
  evaluation.step_time = Duration{1000};
  evaluation.step_time_low = Duration{950};
  evaluation.step_time_high = Duration{1050};
  CHECK(confidence_of(evaluation) == "measured");
  evaluation.assumptions = {{"calibrated on 3 runs of p.json (error of runs left out 2.0 %)", 0.0}};
  CHECK(confidence_of(evaluation) == "calibrated");
  evaluation.step_time_high = Duration{1450};
  CHECK(confidence_of(evaluation) == "estimated");
}

}  // namespace
}  // namespace penstock
