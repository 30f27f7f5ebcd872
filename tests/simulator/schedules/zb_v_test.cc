
#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "tests/simulator/pipelines.h"

namespace penstock {
namespace {

using testing::lowered;
using testing::summary_of;
using testing::text_of;

// Fewer than 2P - 1 micro-batches: some of the list is left out.
TEST_CASE("handcrafted ZB-V goes down the V and up again") {
  const Schedule schedule = make_schedule("zb-v", {4, 2, 4, 0});
  CHECK(text_of(schedule, 0) ==
        "0F0 0F1 0F2 0F3 7F0 7I0 7W0 7F1 7I1 7W1 7F2 7I2 7W2 7F3 7I3 7W3 0I0 0W0 0I1 0W1 0I2 0W2 "
        "0I3 0W3");
  CHECK(text_of(schedule, 3) ==
        "3F0 4F0 3F1 4F1 3F2 4F2 3F3 4F3 4I0 4W0 3I0 3W0 4I1 4W1 3I1 3W1 4I2 4W2 3I2 3W2 4I3 4W3 "
        "3I3 3W3");
}

// P = 2, M = 4, by the eight steps. Rank 0: 3 F(0); 2 x [F I W](3); once with F(0) I W(0) before
// it, once without F(0); 2 x [I W](0).
TEST_CASE("from 2P - 1 micro-batches on nothing is left out") {
  const Schedule schedule = make_schedule("zb-v", {2, 2, 4, 0});
  CHECK(text_of(schedule, 0) ==
        "0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 "
        "0I3 0W3");
  CHECK(text_of(schedule, 1) ==
        "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 "
        "2W3 1W3");
}

TEST_CASE(
    "with equal F, I and W ZB-V has no bubble by span, (P - 1) f by makespan, and 2P chunks") {
  for (const int p : {2, 3, 4, 8}) {
    for (int m = 2 * p - 1; m <= 4 * p + 1; ++m) {
      const TimelineSummary summary = summary_of("zb-v", {p, 2, m, 0}, {20, 20, 20, 0});
      CHECK(summary.longest_span == Duration{60 * m});
      CHECK(summary.makespan == Duration{60 * m + (p - 1) * 10});
      for (const RankLiveness& rank : liveness(lowered("zb-v", {p, 2, m, 0}))) {
        CHECK(rank.peak_chunks == 2 * p);
      }
    }
  }
}

TEST_CASE("ZB-V has a bubble when times differ or micro-batches are few") {
  CHECK(summary_of("zb-v", {4, 2, 8, 0}, {20, 24, 16, 0}).longest_span > Duration{480});
  CHECK(summary_of("zb-v", {4, 2, 6, 0}, {20, 20, 20, 0}).longest_span > Duration{360});
  CHECK(summary_of("zb-v", {4, 2, 8, 0}, {20, 20, 20, 1}).longest_span > Duration{480});
}

TEST_CASE("ZB-V has two stages per rank") {
  CHECK(why_no_schedule(*find_schedule("zb-v"), {4, 3, 8, 0}) ==
        "V = 3: this schedule has 2 stages per rank; use -V 2");
  CHECK(why_no_schedule(*find_schedule("zb-v"), {4, 1, 8, 0}) ==
        "V = 1: this schedule has 2 stages per rank; use -V 2");
}

}  // namespace
}  // namespace penstock
