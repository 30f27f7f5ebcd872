#include "report/page/verdict.h"

#include <doctest/doctest.h>

#include "report/plan_answer.h"
#include "report/words.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

// tests/core/tiny_plan.h: 2 samples in 10,110 ns are 197,824 samples/s; rank 0 holds 300 of 1,000
// B.
TEST_CASE("the verdict is the first sentences of `penstock plan`") {
  PlanFile plan = tiny_plan();
  plan.prediction.step_time = plan.prediction.step_time_low = plan.prediction.step_time_high =
      Duration{10'110};
  PlanAnswer about;
  about.gpus = 2;
  CHECK(verdict_text(plan.plan, plan.prediction) ==
        joined(plan_sentences(plan.plan, plan.prediction, about), " "));
  about.gpus = 3;
  CHECK(verdict_text(plan.plan, plan.prediction, 3) ==
        joined(plan_sentences(plan.plan, plan.prediction, about), " "));
}

TEST_CASE("a plan over memory does not fit, by so many bytes") {
  PlanFile plan = tiny_plan();
  plan.prediction.ranks.at(1).capacity = Bytes{200};
  CHECK(verdict_text(plan.plan, plan.prediction)
            .ends_with(" It does not fit: PP rank 1 needs 31 B more memory than it has."));
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
