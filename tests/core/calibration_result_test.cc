#include "core/values/calibration_result.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("an error is what the prediction is above or below the measurement") {
  CHECK(relative_error(Duration{110}, Duration{100}) == doctest::Approx(0.1));
  CHECK(relative_error(Duration{75}, Duration{100}) == doctest::Approx(-0.25));
}

TEST_CASE("errors are summarized by their absolute values") {
  // 1, 3, 5: the middle is 3, the root of (1 + 9 + 25) / 3 is 3.4157.
  const ErrorSummary odd = summarize_errors({-0.5, 0.1, 0.3});
  CHECK(odd.median == doctest::Approx(0.3));
  CHECK(odd.root_mean_square == doctest::Approx(0.34157));
  CHECK(odd.largest == doctest::Approx(0.5));
  CHECK(summarize_errors({-0.5, 0.1, 0.3, -0.2}).median == doctest::Approx(0.25));
  CHECK(summarize_errors({}).largest == 0.0);
}

}  // namespace
}  // namespace penstock
