#include "cli/reports/fingerprint_plans.h"

#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("replicas of the fingerprint wait for links that they share") {
  const std::string times = times_with_contention();
  const std::string alone = times.substr(0, times.find(' '));
  CHECK_FALSE(times.starts_with(alone + ' ' + alone + ' '));
  CHECK(times.find(" to network ") != std::string::npos);
}

// Section i takes 3.0 + 0.43 i ms at speed 1: 14.6, 15.4 and 34.3 ms; at 11, 11 and 5 times as long
// 160, 170 and 172 ms.
TEST_CASE("ranks of the fingerprint's mixed plan have sections by their speed") {
  CHECK(times_of_mixed_plan().starts_with("0 4 7 12 "));
}

}  // namespace
}  // namespace penstock
