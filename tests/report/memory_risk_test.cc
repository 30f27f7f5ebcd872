#include "report/memory_risk.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

namespace {

RankedPlan of_gib(int first, int second) {
  RankedPlan ranked = tests::ranked();
  ranked.evaluation.ranks = {tests::rank(80, first), tests::rank(90, second)};
  return ranked;
}

}  // namespace

// 37 x 1.07 = 39.59 and 38 x 1.07 = 40.66 of 40 GiB.
TEST_CASE("a plan has room for what estimates were too small by, on every rank") {
  CHECK(fits_with_margin(of_gib(37, 20).evaluation));
  CHECK_FALSE(fits_with_margin(of_gib(38, 20).evaluation));
  CHECK_FALSE(fits_with_margin(of_gib(20, 38).evaluation));
  CHECK(roomier_plan({of_gib(40, 1), of_gib(38, 1), of_gib(37, 37), of_gib(1, 1)}) == 2);
  CHECK_FALSE(roomier_plan({of_gib(40, 1), of_gib(1, 38)}));
}

// 2 GiB + 40 x 0.07 / 1.07 = 4.62: 5 GiB, and what fits then holds 35 GiB beside the reserve:
// (35 + 2) x 1.07 = 39.59.
TEST_CASE("the reserve that leaves as much room") {
  RankedPlan ranked = of_gib(40, 1);
  for (RankEvaluation& rank : ranked.evaluation.ranks) {
    rank.memory.reserve = Bytes{2LL << 30};
    rank.memory.stash = rank.memory.stash - rank.memory.reserve;
  }
  CHECK(reserve_with_margin(ranked.evaluation) == 5);
}
