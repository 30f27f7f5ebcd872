// Expected values: torch 1.13.1 of Debian (python3-torch), by this script:
//
//   import torch
//   from torch.optim.lr_scheduler import *
//   def run(kind, rate, W, T, least, steps):
//       p = torch.nn.Parameter(torch.zeros(1)); o = torch.optim.SGD([p], lr=rate)
//       after = {"constant": lambda: ConstantLR(o, factor=1.0, total_iters=1),
//                "linear": lambda: LinearLR(o, 1.0, least / rate, total_iters=T - W),
//                "cosine": lambda: CosineAnnealingLR(o, T - W, eta_min=least)}[kind]
//       s = (SequentialLR(o, [LinearLR(o, 1 / W, total_iters=W - 1), after()], [W])
//            if W > 1 else after())
//       rates = []
//       for _ in range(steps):
//           rates.append(o.param_groups[0]["lr"]); o.step(); s.step()
//       return rates
#include "training/learning_rate.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TrainingOptions options_of(LearningRateSchedule schedule, double rate, std::int64_t warmup,
                           std::int64_t decay, double least) {
  TrainingOptions options;
  options.schedule = schedule;
  options.learning_rate = rate;
  options.warmup_steps = warmup;
  options.decay_steps = decay;
  options.least_learning_rate = least;
  return options;
}

// PyTorch multiplies from step to step and rounds each time.
void check_equal(const TrainingOptions& options, const std::vector<double>& expected) {
  for (std::size_t t = 0; t < expected.size(); ++t) {
    CAPTURE(t);
    CHECK(std::abs(learning_rate_at(options, static_cast<std::int64_t>(t)) - expected[t]) <=
          1e-14 * options.learning_rate);
  }
}

TEST_CASE("a constant rate behind a warm-up is PyTorch's") {
  // run("constant", 0.01, 4, 0, 0.0, 6)
  check_equal(options_of(LearningRateSchedule::kConstant, 0.01, 4, 0, 0.0),
              {0.0025000000000000001, 0.0050000000000000001, 0.0074999999999999997,
               0.0099999999999999985, 0.01, 0.01});
}

TEST_CASE("a linear decay is PyTorch's") {
  // run("linear", 0.01, 4, 12, 0.001, 12)
  check_equal(
      options_of(LearningRateSchedule::kLinear, 0.01, 4, 12, 0.001),
      {0.0025000000000000001, 0.0050000000000000001, 0.0074999999999999997, 0.0099999999999999985,
       0.01, 0.0088749999999999992, 0.0077499999999999991, 0.0066249999999999989,
       0.0054999999999999997, 0.0043749999999999995, 0.0032499999999999999, 0.0021249999999999997});
}

TEST_CASE("a cosine decay is PyTorch's, with a warm-up and without") {
  // run("cosine", 0.01, 4, 12, 0.001, 12)
  check_equal(
      options_of(LearningRateSchedule::kCosine, 0.01, 4, 12, 0.001),
      {0.0025000000000000001, 0.0050000000000000001, 0.0074999999999999997, 0.0099999999999999985,
       0.010000000000000002, 0.0096574578963007918, 0.0086819805153394644, 0.0072220754456429051,
       0.0055000000000000005, 0.0037779245543570965, 0.0023180194846605367, 0.0013425421036992098});
  // run("cosine", 3e-4, 0, 7, 0.0, 7)
  check_equal(
      options_of(LearningRateSchedule::kCosine, 3e-4, 0, 7, 0.0),
      {0.00029999999999999997, 0.00028514533018536282, 0.00024352347027881, 0.00018337814009344714,
       0.00011662185990655284, 5.6476529721189974e-05, 1.4854669814637143e-05});
}

TEST_CASE("behind the decay the rate stays the least, and a constant one what it is") {
  CHECK(learning_rate_at(options_of(LearningRateSchedule::kCosine, 0.01, 4, 12, 0.001), 12) ==
        0.001);
  CHECK(learning_rate_at(options_of(LearningRateSchedule::kLinear, 0.01, 4, 12, 0.001), 99) ==
        0.001);
  CHECK(learning_rate_at(options_of(LearningRateSchedule::kConstant, 0.01, 4, 12, 0.001), 99) ==
        0.01);
}

TEST_CASE("one step of warm-up is none, and names are read as they are written") {
  CHECK(learning_rate_at(options_of(LearningRateSchedule::kConstant, 0.01, 1, 0, 0.0), 0) == 0.01);
  for (const char* const name : {"constant", "linear", "cosine"}) {
    CHECK(name_of(learning_rate_schedule_named(name).value_or(LearningRateSchedule::kConstant)) ==
          name);
  }
  CHECK_FALSE(learning_rate_schedule_named("polynomial"));
}

}  // namespace
}  // namespace penstock
