#include "report/uncertainty.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

// 402 / 330 = 1.218.
ScenarioResult slow_rank() {
  return {"rank 3 computes 1.3 times as long", 402ms, 330ms, 3, 0, 312ms, 240ms};
}
JitterResult jitter() {
  JitterResult result;
  result.samples = 200;
  result.seed = 7;
  result.has_spreads = true;
  result.step_time = 330ms;
  result.low = 320ms;
  result.median = 331650us;
  result.high = 340ms;
  return result;
}

}  // namespace

TEST_CASE("a scenario says what the step takes with it and without, and which rank binds") {
  CHECK(uncertainty_text({slow_rank(), {}}, Screen{}) ==
        "\nScenario\n"
        "  rank 3 computes 1.3 times as long\n"
        "  step with it          402 ms, 21.8 % longer than without it\n"
        "  step without it       330 ms\n"
        "  busiest rank          3, with 312 ms of work; without the scenario 0, with 240 ms\n");
}

TEST_CASE("jitter says the median, the interval with its meaning, and where spreads come from") {
  JitterResult result = jitter();
  CHECK(uncertainty_text({{}, result}, Screen{}) ==
        "\nJitter\n"
        "  median step           331.7 ms, 0.5 % longer than without jitter\n"
        "  between               320 ms and 340 ms, the 5th and 95th percentile of 200 samples "
        "(seed 7)\n"
        "  spreads               as measured\n");
  result.assumed_percent = "2.5";
  result.replicas_share = true;
  const std::string text = uncertainty_text({{}, result}, Screen{});
  CHECK(text.ends_with(
      "  spreads               2.5 % of the duration, assumed where none was measured\n"
      "  replicas              share their samples: the slowest of independent ones takes "
      "longer\n"));
}

TEST_CASE("jitter without spreads says so instead of an interval of no width") {
  CHECK(uncertainty_text({{}, JitterResult{}}, Screen{}) ==
        "\nJitter\n"
        "  no spreads were measured, so jitter changes nothing; --jitter-percent N assumes N %\n");
}

TEST_CASE("the same for programs, and nothing when nothing was asked for") {
  Json json = Json::object();
  set_uncertainty(json, {});
  CHECK(json == Json::object());
  CHECK(uncertainty_text({}, Screen{}).empty());
  set_uncertainty(json, {slow_rank(), jitter()});
  CHECK(json.find("scenario")->find("step_time_ns")->text() == "402000000");
  CHECK(json.find("scenario")->find("step_time_without_ns")->text() == "330000000");
  CHECK(json.find("scenario")->find("busiest_rank")->text() == "3");
  CHECK(json.find("jitter")->find("step_time_median_ns")->text() == "331650000");
  CHECK(json.find("jitter")->find("step_time_p95_ns")->text() == "340000000");
  CHECK(json.find("jitter")->find("assumed_percent")->kind() == Json::Kind::kNull);
}
