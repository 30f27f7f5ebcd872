#include "training/relative_bucket.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("near distances have a bucket each, farther ones share them by their logarithm") {
  // Both ways: 16 buckets a side, of which 8 are for distances 0 to 7, and 8 for 8 to 128.
  CHECK(relative_bucket(0, true) == 0);
  CHECK(relative_bucket(-7, true) == 7);
  CHECK(relative_bucket(7, true) == 16 + 7);
  CHECK(relative_bucket(-8, true) == 8);
  CHECK(relative_bucket(-32, true) == 12);  // half of the four octaves from 8 to 128
  CHECK(relative_bucket(-127, true) == 15);
  CHECK(relative_bucket(1000, true) == 31);
  // One way: 16 one by one, 16 for the three octaves from 16 to 128.
  CHECK(relative_bucket(-15, false) == 15);
  CHECK(relative_bucket(-16, false) == 16);
  CHECK(relative_bucket(-1000, false) == 31);
  CHECK(relative_bucket(3, false) == 0);  // a key that is not seen
}

}  // namespace
}  // namespace penstock
