#include "report/reasons.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;
using namespace penstock::literals;

TEST_CASE("a rejection is a sentence with its count, its range and its remedy") {
  Rejection rejection;
  rejection.reason = "stage 0 over memory";
  rejection.candidates = 214;
  rejection.least_over = 1536_MiB;
  rejection.most_over = 10_GiB;
  rejection.remedy = "full recompute";
  CHECK(
      rejection_text(rejection) ==
      "214 candidates: stage 0 over memory by 1.5 GiB to 10.0 GiB; would fit with full recompute");
}

TEST_CASE("one candidate, one size, no remedy") {
  Rejection rejection;
  rejection.reason = "the only stage over memory";
  rejection.candidates = 1;
  rejection.least_over = rejection.most_over = 2_GiB;
  CHECK(rejection_text(rejection) == "1 candidate: the only stage over memory by 2.0 GiB");
}

TEST_CASE("assumptions that touch most come first; without a share of time there is none") {
  CHECK(assumptions_text({{"memory derived", 0.0}, {"split assumed", 0.25}, {"guess", 0.5}},
                         Screen{}) ==
        "   50.0 %  guess\n"
        "   25.0 %  split assumed\n"
        "        -  memory derived\n");
}

TEST_CASE("the candidates add up, and a stop is said") {
  SearchResult result;
  result.candidates = 1234;
  result.evaluated = 200;
  result.bounded = 820;
  result.rejected = {{"a", 200, {}, {}, ""}, {"b", 14, {}, {}, ""}};
  CHECK(counts_text(result) ==
        "1,234 candidates: 200 simulated, 820 ruled out by a lower bound, 214 "
        "cannot run.");
  result.complete = false;
  CHECK(counts_text(result).ends_with("; stopped before the end, so a better plan may exist."));
}
