#include "cli/io/report_command.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("what a shell would take apart is quoted") {
  CHECK(shell_word("--pin") == "--pin");
  CHECK(shell_word("P=4,b=1") == "P=4,b=1");
  CHECK(shell_word("my plan.json") == "'my plan.json'");
  CHECK(shell_word("it's; rm *") == R"('it'\''s; rm *')");
  CHECK(shell_word("") == "''");
  CHECK(command_of("report", {"a b.json", "-o", "r.html"}) ==
        "penstock report 'a b.json' -o r.html");
}

TEST_CASE("the command of one plan asks the same question and pins every choice") {
  Plan plan;
  plan.pipeline = 4;
  plan.data = 16;
  plan.schedule = "zb-h1";
  plan.zero1 = true;
  plan.placement = Placement::kDataInner;
  CHECK(
      command_for(plan, {"p.json", "--cluster", "c.json", "--gpus=64", "--top", "3", "-o",
                         "report.html", "--pin=P=4", "--scaling", "off", "--json"}) ==
      "penstock plan p.json --cluster c.json --gpus=64 --pin TP=1,PP=4,DP=16,VP=1,mbs=1 --schedule "
      "zb-h1 --recompute none --zero1 on --placement data-inner -o plan.json");
}

TEST_CASE("the command of a plan whose optimizer is on the host says so") {
  Plan plan;
  plan.offload_optimizer = true;
  CHECK(command_for(plan, {"p.json", "--pin", "offload=any"}) ==
        "penstock plan p.json --pin TP=1,PP=1,DP=1,VP=1,mbs=1,offload=optimizer --schedule 1f1b "
        "--recompute none -o plan.json");
}

// One replica: nothing is sharded, nothing else can be side by side.
TEST_CASE("what a plan had no choice about is not pinned") {
  CHECK(command_for(Plan{}, {"p.json"}) ==
        "penstock plan p.json --pin TP=1,PP=1,DP=1,VP=1,mbs=1 --schedule 1f1b --recompute none "
        "-o plan.json");
}

}  // namespace
}  // namespace penstock
