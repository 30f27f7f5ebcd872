#include "report/plan_table.h"

#include <sstream>

#include <doctest/doctest.h>

#include "report/screen.h"
#include "tests/report/results.h"

using namespace penstock;

namespace {

std::vector<RankedPlan> three_plans() {
  std::vector<RankedPlan> plans(3, tests::ranked());
  plans[0].on_pareto_front = true;
  plans[1].tied_with_best = true;
  plans[1].plan.zero1 = true;
  plans[2].tied_with_best = plans[2].on_pareto_front = true;
  plans[2].plan.schedule = "interleaved";
  return plans;
}

}  // namespace

TEST_CASE("one row per plan, marks explained below") {
  CHECK(plan_table(three_plans()) ==
        "#       step   +- samples/s TP PP DP VP mbs M schedule    recompute shards GPUs       GiB "
        "bub% idle%\n"
        "1*  100.0 ms 5.0%     200.0  1  2  3  1   2 4 1f1b        none      -         6 30.0/40.0 "
        "10.0  15.0\n"
        "2=  100.0 ms 5.0%     200.0  1  2  3  1   2 4 1f1b        none      ZeRO-1    6 30.0/40.0 "
        "10.0  15.0\n"
        "3=* 100.0 ms 5.0%     200.0  1  2  3  1   2 4 interleaved none      -         6 30.0/40.0 "
        "10.0  15.0\n"
        "= tied with plan 1 (the difference is within its uncertainty); * on the Pareto front of "
        "step time\nand memory; +-: error of the step time; M: micro-batches of a step and DP "
        "rank; shards: what the\nreplicas divide; GiB: peak of the fullest rank / its capacity; "
        "bub%: "
        "bubble by makespan, beyond the\nwork of the busiest rank; idle%: mean of all ranks.\n");
}

TEST_CASE("prices and tokens have columns when there are any; no line is wider than 100") {
  std::vector<RankedPlan> plans = three_plans();
  for (RankedPlan& ranked : plans) {
    ranked.plan.sequence_length = 2048;
    ranked.plan.global_batch = 4096;
    ranked.plan.data = 1024;
    ranked.evaluation.usd_per_step = 12.34;
  }
  std::istringstream lines(plan_table(plans));
  std::string line;
  std::getline(lines, line);
  CHECK(line.find("tokens/s") != std::string::npos);
  bool has_price = false;
  do {
    CHECK(line.size() <= 100);
    has_price = has_price || line.find("$/Mtok") != std::string::npos;
  } while (std::getline(lines, line));
  CHECK(has_price);
}

TEST_CASE("a plan is said in the words of the field") {
  Plan plan = tests::plan();
  CHECK(layout_line(plan) == "TP 1 x PP 2 x DP 3, mbs 2, 4 micro-batches, 1f1b, no recompute");
  plan.chunks = 2;
  plan.tensor = 4;
  plan.zero1 = true;
  plan.recompute = "full";
  CHECK(plan_line(plan) ==
        "TP 4 x PP 2 x DP 3, VP 2, mbs 2, 4 micro-batches, 1f1b, full recompute, ZeRO-1, 24 GPUs");
  plan.cuts = {0, 1, 2, 4, 5};
  plan.recompute_sections = {0, 1, 2, 0};
  CHECK(recompute_text(plan) == "full recompute in 3 of 5 sections (stages 1 to 2)");
}

TEST_CASE("the Pareto front holds what it is a front of") {
  std::vector<RankedPlan> plans{tests::ranked()};
  CHECK(pareto_table(plans, Screen{}) ==
        "    step   GiB  plan\n"
        "100.0 ms  30.0  TP 1 x PP 2 x DP 3, mbs 2, 1f1b, 6 GPUs\n");
}

TEST_CASE("stages are named by their first and last section") {
  CHECK(stages_text(tests::plan(), {"embedding", "layer", "head"}, Screen{}) ==
        "  0: embedding..layer (2) | 1: head (1)\n");
  Plan two_copies = tests::plan();  // on two ranks: stages 0 and 2 hold the same sections
  two_copies.chunks = 2;
  two_copies.stage_map = StageMap::kBidirectional;
  CHECK(stages_text(two_copies, {"embedding", "layer", "head"}, Screen{}) ==
        "  0, 2: embedding..layer (2) | 1, 3: head (1)\n");
}

TEST_CASE("how well plans compare is said once") {
  std::vector<RankedPlan> plans = three_plans();
  CHECK(relative_text({plans[0]}).empty());
  plans[1].against_best = plans[2].against_best = 0.04;
  CHECK(relative_text(plans).find("within +-4.0 % of") != std::string::npos);
  plans[2].against_best = 0.094;
  CHECK(relative_text(plans).find("within +-4.0 % to 9.4 % of") != std::string::npos);
}

TEST_CASE("ties are said to be ties") {
  CHECK(ties_text({tests::ranked()}).empty());
  CHECK(ties_text(three_plans()).starts_with("Plans 2 and 3 tie with plan 1: "));
  std::vector<RankedPlan> plans = three_plans();
  plans[1].tied_with_best = false;
  CHECK(ties_text(plans).starts_with("Plan 3 ties with plan 1: "));
}
