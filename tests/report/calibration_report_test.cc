#include "report/calibration_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;

namespace {

CalibrationResult result() {
  CalibrationResult result;
  result.terms = {
      {"compute", TermUnit::kFactor, 1.26, TermState::kFitted, 2, 0.031},
      {"per step", TermUnit::kNanoseconds, 1'500'000.0, TermState::kFitted, 2, 200e3},
      {"per transfer", TermUnit::kNanoseconds, 0.0, TermState::kNoEffect, 0, 500e3},
      {"reduction per byte", TermUnit::kPicosecondsPerByte, 19.5, TermState::kNotIdentified, 1}};
  RunFit one, two;
  one.name = "one";
  one.plan.pipeline = 2;
  one.plan.global_batch = 4;
  one.measured = Duration{100'000'000};
  one.predicted = Duration{103'000'000};
  one.left_out = Duration{104'000'000};
  one.uncalibrated = Duration{80'000'000};
  one.measured_reduction = Duration{2'000'000};
  one.predicted_reduction = Duration{3'000'000};
  two.name = "two";
  two.measured = Duration{10'000'000};
  two.predicted = Duration{9'900'000};
  two.left_out = Duration{9'700'000};
  two.uncalibrated = Duration{9'000'000};
  two.measured_memory = Bytes{1LL << 30};
  two.predicted_memory = Bytes{3LL << 29};
  two.left_out_memory = Bytes{5LL << 28};
  two.uncalibrated_memory = Bytes{2LL << 30};
  result.runs = {one, two};
  result.calibration.memory = {2, 1.05, Bytes{3LL << 29}};
  return result;
}

}  // namespace

TEST_CASE("a calibration says what was fitted, how far every run is off, and sums that up") {
  // In sample +3 % and -1 %: median 2 %, root mean square 2.236 %. Left out +4 % and -3 %; not
  // calibrated -20 % and -10 %.
  CHECK(calibration_report(result(), Screen{}) ==
        R"(term                      value      +-
compute                x 1.2600   0.031  fitted to 2 runs
per step                 1.5 ms  200 us  fitted to 2 runs
per transfer               0 ns  500 us  not identifiable: no run depends on it
reduction per byte  19.500 ps/B       -  not identifiable from 1 run
+-: one standard deviation, by the runs and by what is likely without them; intervals follow it.
not identifiable: runs that are left out are predicted no better with it; it stays neutral.
reduction: fitted to the times of reductions, not to step times.
suspicious: compute x 1.260 lies outside 0.8 to 1.25. Look whether the profile is of this device,
  precision, T and recompute mode, whether runs and plans name the same batch and schedule, and
  whether the executor is the right one.

memory: +2 bytes per parameter, activations x 1.050, reserve 1.5 GiB

run  TP PP DP mbs M  measured  predicted   error  left out        GiB    reduction
one   1  2  1   1 4  100.0 ms   103.0 ms  +3.0 %    +4.0 %          -  2 ms / 3 ms
two   1  1  1   1 1  10.00 ms   9.900 ms  -1.0 %    -3.0 %  1.0 / 1.5            -
left out: predicted by a fit to all other runs; GiB and reduction: measured / predicted.

step time       median  root mean square  largest
not calibrated  15.0 %            15.8 %   20.0 %
in sample        2.0 %             2.2 %    3.0 %
left out         3.5 %             3.5 %    4.0 %

memory           median  root mean square  largest
not calibrated  100.0 %           100.0 %  100.0 %
in sample        50.0 %            50.0 %   50.0 %
left out         25.0 %            25.0 %   25.0 %
)");
}

TEST_CASE("the same for programs") {
  Json json = Json::object();
  set_calibration(json, result());
  const Json& term = json.find("terms")->elements()[1];
  CHECK(term.find("unit")->text() == "ns");
  CHECK(term.find("value")->text() == "1500000");
  CHECK(term.find("state")->text() == "fitted");
  const Json& run = json.find("runs")->elements()[0];
  CHECK(run.find("left_out_ns")->text() == "104000000");
  CHECK(run.find("measured_reduction_ns")->text() == "2000000");
  CHECK(run.find("measured_memory_bytes") == nullptr);
  CHECK(json.find("runs")->elements()[1].find("measured_reduction_ns") == nullptr);
  const Json* left_out = json.find("errors")->find("left_out");
  CHECK(left_out->find("largest")->text().starts_with("0.04"));
}
