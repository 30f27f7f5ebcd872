#include "report/what_if.h"

#include <doctest/doctest.h>

#include "report/screen.h"

using namespace penstock;

TEST_CASE("each change says how much of the step it saves; a loss is negative") {
  const Duration now(100'000'000);
  CHECK(what_if_table(now,
                      {{"transfers took no time", Duration(87'500'000)},
                       {"stages were balanced", Duration(101'000'000)}},
                      Screen{}) ==
        "  if                          step   saves\n"
        "  (as it is)              100.0 ms\n"
        "  transfers took no time  87.50 ms  12.5 %\n"
        "  stages were balanced    101.0 ms  -1.0 %\n");
}

TEST_CASE("the same for programs") {
  CHECK(to_text(what_if_json(Duration(100), {{"x", Duration(75)}})) ==
        R"([{"change": "x", "step_time_ns": 75, "saved_share": 0.25}])");
}
