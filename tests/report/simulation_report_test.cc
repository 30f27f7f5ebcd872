#include "report/simulation_report.h"

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;

TEST_CASE("no findings is an answer with the checker's own numbers") {
  CheckReport report;
  report.replayed = Duration(7'000'000);
  report.memory = {Bytes{1LL << 30}, Bytes{2LL << 30}};
  CHECK(check_text(report, "plan.json", Screen{}) ==
        "plan.json: no findings; the checker's own replay takes 7 ms (7,000,000 ns), its fullest "
        "rank "
        "2.0 GiB\n");
  report.findings = {{"rank 2", "too much"}};
  CHECK(check_text(report, "plan.json", Screen{}) == "plan.json: 1 finding\n  rank 2: too much\n");
}
