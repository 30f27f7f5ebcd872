#include "report/simulation_report.h"

#include <doctest/doctest.h>

#include "tests/report/results.h"

using namespace penstock;

namespace {

PlanFile plan_file() {
  PlanFile file;
  file.model = "model";
  file.cluster.name = "cluster";
  file.section_names = {"embedding", "layer", "head"};
  file.plan = tests::plan();
  return file;
}

}  // namespace

TEST_CASE("an explanation says what binds") {
  Evaluation evaluation = tests::evaluation();  // rank 1 works 90 of 100 ms
  const auto binds = [&] {
    return explanation(plan_file(), evaluation, {{"x", Duration(90'000'000)}});
  };
  CHECK(binds().find("  Work binds: rank 1, the busiest, works 90 ms of a makespan of 100 ms; most "
                     "of its waiting is\n  warm-up (10 ms).\n") != std::string::npos);
  CHECK(binds().find("25.0 % of its capacity is left.\n") != std::string::npos);
  evaluation.ranks = {tests::rank(50, 39), tests::rank(40, 20)};
  CHECK(binds().find("  Waiting binds: rank 0, ") != std::string::npos);
  CHECK(binds().find("2.5 % of its capacity is left: memory binds too.") != std::string::npos);
  CHECK(binds().find("  x           90.00 ms  10.0 %\n") != std::string::npos);
}

TEST_CASE("no findings is an answer with the checker's own numbers") {
  CheckReport report;
  report.replayed = Duration(7'000'000);
  report.memory = {Bytes{1LL << 30}, Bytes{2LL << 30}};
  CHECK(
      check_text(report, "plan.json") ==
      "plan.json: no findings; the checker's own replay takes 7 ms (7,000,000 ns), its worst rank "
      "2.0 GiB\n");
  report.findings = {{"rank 2", "too much"}};
  CHECK(check_text(report, "plan.json") == "plan.json: 1 finding\n  rank 2: too much\n");
}
