#include "report/explanation.h"

#include <doctest/doctest.h>

#include "report/screen.h"
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

TEST_CASE("an explanation says first what limits the step") {
  Explanation about;
  about.evaluation = tests::evaluation();  // rank 1 works 90 of 100 ms
  about.rearranged = {{"x", Duration(90'000'000)}};
  const auto binds = [&] { return explanation(plan_file(), about, Screen{}); };
  CHECK(binds().find("  Compute is the limit: rank 1, the busiest, computes 90 ms of 100 ms; its "
                     "longest wait is warm-up\n  (10 ms). Rank 0, the next busiest, computes 80 "
                     "ms.\n") != std::string::npos);
  CHECK(binds().find("25.0 % of it is free.\n") != std::string::npos);
  about.evaluation.ranks = {tests::rank(50, 39), tests::rank(40, 20)};
  CHECK(binds().find("  Waiting is the limit: rank 0, ") != std::string::npos);
  CHECK(binds().find("2.5 % of it is free: memory is a limit, too.") != std::string::npos);
  CHECK(binds().find("  x           90.00 ms  10.0 %\n") != std::string::npos);
}

TEST_CASE("a question about another plan is answered under the heading of this one") {
  WhyNot why;
  why.asked = "D=99";
  why.contradictions = {"D = 99: too many."};
  const std::string told = why_not_report(plan_file(), tests::evaluation(), why, Screen{});
  CHECK(told.starts_with("model on cluster: TP 1 x PP 2 x DP "));
  CHECK(told.ends_with("\n\nWhy not D=99?\n  D = 99: too many.\n"));
}
