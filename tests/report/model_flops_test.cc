#include "report/model_flops.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

// 20 samples of 3e12 in 100 ms on 6 GPUs: 1e14 per second each, of a peak of 4e14.
TEST_CASE("the MFU is what the model asks for, of what the devices could do") {
  ModelFlops flops{3e12, FlopConvention::kMegatron, {{"a100", 4e14}}};
  const Plan plan = tests::plan();
  CHECK(flops_per_second_and_gpu(flops, plan, Duration{100'000'000}) == doctest::Approx(1e14));
  CHECK(*mfu(flops, plan, Duration{100'000'000}) == doctest::Approx(0.25));
  flops.peaks.clear();
  CHECK_FALSE(mfu(flops, plan, Duration{100'000'000}));
}

// The second rank of each replica on a device of half the peak: 3 x (4e14 + 2e14) = 1.8e15.
TEST_CASE("of a mixed plan every device has its own peak") {
  const ModelFlops flops{3e12, FlopConvention::kMegatron, {{"a100", 4e14}, {"old", 2e14}}};
  Plan plan = tests::plan();
  set_rank_devices(plan, {"a100", "old"});
  CHECK(*mfu(flops, plan, Duration{100'000'000}) == doctest::Approx(6e14 / 1.8e15));
}

// With T = 2 twice the devices, each a half of the rate: 12 of them have 3.6e15 and do 20 x 3e12 in
// 100 ms.
TEST_CASE("of a mixed plan every tensor-parallel device has a peak") {
  const ModelFlops flops{3e12, FlopConvention::kMegatron, {{"a100", 4e14}, {"old", 2e14}}};
  Plan plan = tests::plan();
  plan.tensor = 2;
  set_rank_devices(plan, {"a100", "old"});
  CHECK(*mfu(flops, plan, Duration{100'000'000}) == doctest::Approx(6e14 / 3.6e15));
}

// 1e14 FLOP/s and GPU of 4e14, between 80 and 125 ms: 31 and 20 %.
TEST_CASE("the rate is told with the MFU at both ends of the interval") {
  ModelFlops flops{3e12, FlopConvention::kMegatron, {{"a100", 4e14}}};
  Evaluation evaluation;
  evaluation.step_time = Duration{100'000'000};
  evaluation.step_time_low = Duration{80'000'000};
  evaluation.step_time_high = Duration{125'000'000};
  CHECK(flops_text(flops, tests::plan(), evaluation) == "100 TFLOP/s per GPU, MFU 25 % (20 to 31)");
  flops.peaks.clear();
  CHECK(flops_text(flops, tests::plan(), evaluation) == "100 TFLOP/s per GPU");
}
