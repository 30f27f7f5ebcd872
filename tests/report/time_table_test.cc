#include "report/time_table.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;

TEST_CASE("tenths of a percent sum to a thousand, the largest remainders round up") {
  // Thirds are 333.3 each: one is missing, and the first of equal remainders gets it.
  CHECK(tenths_of_percent({Duration(1), Duration(1), Duration(1)}) ==
        std::vector<std::int64_t>{334, 333, 333});
  // 1/7 = 142.86, 2/7 = 285.71, 4/7 = 571.43: two are missing.
  CHECK(tenths_of_percent({Duration(1), Duration(2), Duration(4)}) ==
        std::vector<std::int64_t>{143, 286, 571});
  CHECK(tenths_of_percent({Duration(0), Duration(0)}) == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("the busiest rank's makespan, part by part") {
  CHECK(busiest_rank_time(tests::evaluation(), Screen{}) ==
        "  part           time   share\n"
        "  compute    90.00 ms  90.0 %  computes, the optimizer included\n"
        "  warm-up    10.00 ms  10.0 %  waits before its first backward\n"
        "  drain          0 ns   0.0 %  waits after its last forward\n"
        "  imbalance      0 ns   0.0 %  waits in between for a rank with more work\n"
        "  order          0 ns   0.0 %  waits in between for its turn\n"
        "  transfer       0 ns   0.0 %  waits for a transfer\n"
        "  barrier        0 ns   0.0 %  gradient reduction, norm, optimizers of other ranks\n");
}

TEST_CASE("all ranks") {
  CHECK(time_table(tests::evaluation(), tests::plan(), Screen{}) ==
        "rank  compute  warm-up  drain  imbalance  order  transfer  barrier\n"
        "   0   80.0 %   20.0 %  0.0 %      0.0 %  0.0 %     0.0 %    0.0 %\n"
        "   1   90.0 %   10.0 %  0.0 %      0.0 %  0.0 %     0.0 %    0.0 %\n");
}
