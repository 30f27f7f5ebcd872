#include "manager/start_times.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// In whole milliseconds, since powers are rounded.
std::optional<Duration> expected(const std::vector<MeasuredStart>& starts, int ranks,
                                 int processors = 0) {
  const auto time = expected_start(starts, ranks, processors);
  if (!time) return std::nullopt;
  return std::chrono::round<milliseconds>(*time);
}

TEST_CASE("before the first start nobody can tell how long one takes") { CHECK(!expected({}, 4)); }

TEST_CASE("one start is all that is known: of any number of ranks where each has its machine") {
  CHECK(expected({{4, seconds(10)}}, 4) == seconds(10));
  CHECK(expected({{4, seconds(10)}}, 1000) == seconds(10));
}

// Half of a start waits for processors. On two of them four ranks take 1/2 + 1/2 2 = 1.5 times as
// long as one or two, three ranks 1.25 times, and eight 2.5 times.
TEST_CASE("ranks of one machine take turns on its processors") {
  const std::vector<MeasuredStart> starts{{4, seconds(15)}};
  CHECK(expected(starts, 1, 2) == seconds(10));
  CHECK(expected(starts, 2, 2) == seconds(10));
  CHECK(expected(starts, 3, 2) == milliseconds(12500));
  CHECK(expected(starts, 8, 2) == seconds(25));
  CHECK(expected(starts, 1, 8) == seconds(15));  // enough for all
}

// The second takes 81/16 times as long, of which (81/16)^(3/4) = 27/8 are the machines', and
// (81/16)^(1/4) = 3/2 are of four ranks.
TEST_CASE("three quarters of a surprise are of the machines, a quarter of so many ranks") {
  const std::vector<MeasuredStart> starts{{4, seconds(16)}, {4, seconds(81)}};
  CHECK(expected(starts, 4) == seconds(81));
  CHECK(expected(starts, 2) == seconds(54));
}

// A quarter of the time, of which half is of the machines: 16 s / 2 for four ranks, and two take
// half of it.
TEST_CASE("of the first start of so many ranks half is of these") {
  const std::vector<MeasuredStart> starts{{4, seconds(16)}, {2, seconds(4)}};
  CHECK(expected(starts, 2) == seconds(4));
  CHECK(expected(starts, 4) == seconds(8));
}

// Two ranks take 10 s and four 20 s, again and again. The first time of two is half of what was
// foreseen; from then on every start teaches less than the one before it.
TEST_CASE("what each number of ranks takes is learnt though nothing was known of it") {
  std::vector<MeasuredStart> starts;
  for (int i = 0; i < 8; ++i) {
    starts.push_back({4, seconds(20)});
    starts.push_back({2, seconds(10)});
  }
  CHECK(*expected(starts, 2) == seconds(10));
  CHECK(*expected(starts, 4) > milliseconds(19800));
  CHECK(*expected(starts, 4) < milliseconds(20200));
}

TEST_CASE("a clock that was set makes a start at most ten times as long or as short") {
  CHECK(expected({{4, seconds(10)}, {4, seconds(10000)}}, 4) == seconds(100));
  CHECK(expected({{4, seconds(10)}, {4, milliseconds(1)}}, 4) == seconds(1));
}

}  // namespace
}  // namespace penstock
