#include "cli/options/model_input.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("an interval with one end at the estimate says how far it reaches to the other side") {
  EstimatedModel estimated;
  estimated.device.name = "x1";
  estimated.estimate.basis = ErrorBasis::kRuns;
  const auto ends_with = [&](ErrorBand error, const char* end) {
    estimated.estimate.error = error;
    return headline_of(estimated).ends_with(end);
  };
  CHECK(ends_with({0.0, 0.339}, "runs took up to 33.9 % more time than such an estimate"));
  CHECK(ends_with({0.1, 0.0}, "runs took up to 10.0 % less time than such an estimate"));
  CHECK(ends_with({0.1, 0.2},
                  "runs took between 10.0 % less and 20.0 % more time than such an estimate"));
}

}  // namespace
}  // namespace penstock
