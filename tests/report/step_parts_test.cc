#include "report/step_parts.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

// A step of 10 ms: without the first part 5 ms, twice as fast; a third of it, 3.333 ms, in each of
// the others.
std::vector<StepPart> parts() {
  return {{"forward", "its own", 3333us, 5ms, false},
          {"warm-up", "others compute", 3333us, 6667us, true},
          {"backward", "its own", 3334us, 0ms, false}};
}

}  // namespace

TEST_CASE("shares sum to 100, and every part says what the step would be without it") {
  CHECK(step_parts_table(10ms, parts(), Screen{}) ==
        "  part          time   share  if zero: step   faster\n"
        "  forward   3.333 ms  33.3 %       5.000 ms  100.0 %          its own\n"
        "  warm-up   3.333 ms  33.3 %       6.667 ms   50.0 % at most  others compute\n"
        "  backward  3.334 ms  33.4 %           0 ns        -          its own\n");
}

TEST_CASE("programs are told what was replayed and what is a bound") {
  const Json json = to_json(10ms, parts());
  const auto& rows = json.elements();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].find("time_ns")->text() == "3333000");
  CHECK(rows[0].find("step_time_if_zero_ns")->text() == "5000000");
  CHECK(rows[0].find("more_speed_if_zero")->text() == "1");
  CHECK(rows[0].find("basis")->text() == "replayed");
  CHECK(rows[1].find("basis")->text() == "bound");
  CHECK(rows[2].find("more_speed_if_zero") == nullptr);
}
