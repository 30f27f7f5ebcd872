#include "cli/options/nearest.h"

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("a slip finds its word; nonsense finds all of them") {
  const std::vector<std::string> known{"plan", "schedule", "check"};
  CHECK(did_you_mean("schdule", known) == "did you mean 'schedule'?");
  CHECK(did_you_mean("plam", known) == "did you mean 'plan'?");
  CHECK(did_you_mean("plna", known) == "did you mean 'plan'?");
  CHECK(did_you_mean("sched", known) == "did you mean 'schedule'?");
  CHECK(did_you_mean("bananas", known) == "known: plan, schedule, check");
  CHECK(did_you_mean("", known) == "known: plan, schedule, check");
}
