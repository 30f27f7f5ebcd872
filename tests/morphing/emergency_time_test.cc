#include "morphing/emergency_time.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// 7e9 parameters of 12 bytes on 8 stages: 10.5e9 bytes each.
EmergencyCost of_7b(int writers) {
  EmergencyCost cost;
  cost.of_largest_stage = {10'500'000'000};
  cost.of_model = {84'000'000'000};
  cost.of_writer = {1e9};
  cost.writers = writers;
  return cost;
}

TEST_CASE("the survivors of a stage share its bytes") {
  CHECK(emergency_time(of_7b(1)) == milliseconds(10'500));
  CHECK(emergency_time(of_7b(4)) == milliseconds(2'625));
  EmergencyCost cost = of_7b(4);
  cost.until_agreed = seconds(3);
  CHECK(emergency_time(cost) == milliseconds(5'625));
}

TEST_CASE("a storage that all share may be what takes longest") {
  EmergencyCost cost = of_7b(4);
  cost.of_storage = {4e9};
  CHECK(emergency_time(cost) == seconds(21));
  cost.of_storage = {1e12};
  CHECK(emergency_time(cost) == milliseconds(2'625));
}

TEST_CASE("what does not end within the notice is not begun") {
  CHECK(fits_notice(of_7b(1), milliseconds(10'500)));
  CHECK(!fits_notice(of_7b(1), milliseconds(10'499)));
  CHECK(!emergency_time(of_7b(0)));
  CHECK(!fits_notice(of_7b(0), seconds(1000)));
  EmergencyCost cost = of_7b(1);
  cost.of_writer = {};
  CHECK(!emergency_time(cost));
}

}  // namespace
}  // namespace penstock
