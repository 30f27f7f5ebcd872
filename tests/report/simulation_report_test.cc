#include "report/simulation_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "simulator/simulate.h"
#include "tests/core/tiny_plan.h"
#include "tests/report/results.h"

using namespace penstock;

TEST_CASE("no findings is an answer with the checker's own numbers") {
  CheckReport report;
  report.replayed = Duration(7'000'000);
  report.memory = {Bytes{1LL << 30}, Bytes{2LL << 30}};
  CHECK(check_text(report, "plan.json", Screen{}) ==
        "plan.json: no findings; the checker's own replay takes 7 ms, its fullest "
        "rank "
        "2.0 GiB\n");
  report.findings = {{"rank 2", "too much"}};
  CHECK(check_text(report, "plan.json", Screen{}) == "plan.json: 1 finding\n  rank 2: too much\n");
}

TEST_CASE("a plan file that does not hold what a sample asks for says who knows it") {
  PlanFile file = tiny_plan();
  const Timeline timeline = simulate(file.program, file.prices, file.executor);
  const auto tells = [&](const std::string& words) {
    return simulation_report(file, file.prediction, timeline, "", Screen{}).find(words) !=
           std::string::npos;
  };
  CHECK_FALSE(tells("model FLOP"));  // of a model without tokens
  file.plan.sequence_length = 128;
  CHECK(
      tells("not in this plan file, so there is no MFU; penstock explain works it out from the "
            "model"));
  file.flops = ModelFlops{1e9, FlopConvention::kMegatron, {{"toy", 1e15}}};
  CHECK(tells("TFLOP/s per GPU, MFU "));
}
