#include "report/words.h"

#include <doctest/doctest.h>

using namespace penstock;
using namespace penstock::literals;

TEST_CASE("digits come in groups of three") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(-1234567) == "-1,234,567");
}

TEST_CASE("significant digits are kept when the first ones round up") {
  CHECK(significant(12.204, 4) == "12.20");
  CHECK(significant(0.0123, 4) == "0.01230");
  CHECK(significant(999.96, 4) == "1,000");
  CHECK(significant(99961.4, 4) == "99,961");
  CHECK(significant(0.0, 4) == "0");
}

TEST_CASE("aligned times always have four digits, but nanoseconds have no fraction") {
  CHECK(aligned(Duration(42'800'000'000)) == "42.80 s");
  CHECK(aligned(Duration(338'000'000)) == "338.0 ms");
  CHECK(aligned(Duration(46'997'078'827'000)) == "46997 s");
  CHECK(aligned(Duration(7)) == "7 ns");
}

TEST_CASE("an exact time says both") {
  CHECK(exact(Duration(1'234'567)) == "1.235 ms (1,234,567 ns)");
}

TEST_CASE("rates have four digits, or all of the whole ones") {
  CHECK(rate(99961.4) == "99,961");
  CHECK(rate(12.2) == "12.20");
  CHECK(rate(0.0) == "0");
}

TEST_CASE("bytes and shares") {
  CHECK(gib(40_GiB) == "40.0");
  CHECK(gib(1536_MiB) == "1.5");
  CHECK(percent(0.0512) == "5.1 %");
  CHECK(count_of(1, "rank") == "1 rank");
  CHECK(count_of(1234, "candidate") == "1,234 candidates");
}

TEST_CASE("neighbours are said as a range") {
  CHECK(ranges({}).empty());
  CHECK(ranges({4}) == "4");
  CHECK(ranges({2, 3, 4, 7, 9, 10}) == "2 to 4, 7, 9 to 10");
}

TEST_CASE("text breaks at blanks, and a long word stands alone") {
  CHECK(wrapped("aa bb cc", 5, "", "  ") == "aa bb\n  cc\n");
  CHECK(wrapped("a-very-long-word b", 5, "> ", "  ") == "> a-very-long-word\n  b\n");
  CHECK(wrapped("a 12 ms) b", 6, "", "") == "a\n12 ms)\nb\n");  // a number stays with its unit
  CHECK(wrapped("a 12 xx", 5, "", "") == "a 12\nxx\n");
  CHECK(wrapped("", 5, "", "") == "\n");
}

TEST_CASE("beside an error of percents a time has three digits") {
  CHECK(rounded(Duration{12'804'548'750}) == "12.8 s");
  CHECK(rounded(Duration{999'600'000}) == "1.00 s");
  CHECK(rounded(Duration{426'400'000}) == "426 ms");
  CHECK(rounded(Duration{9'046'000'000}) == "9.05 s");
  CHECK(rounded(Duration{7}) == "7 ns");
}
