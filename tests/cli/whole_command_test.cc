#include "cli/answers/commands/whole_command.h"

#include <doctest/doctest.h>

namespace penstock {

TEST_CASE("what a verb needs and nobody typed stands in its command") {
  CHECK(whole_command("plan", {"my/config.json", "--gpus", "8"}) ==
        "penstock plan my/config.json --gpus 8 --device h100-sxm --global-batch 512");
  CHECK(whole_command("validate", {}) == "penstock validate plan.json train.log");
  CHECK(whole_command("validate", {"a.json", "b.log", "--json"}) ==
        "penstock validate a.json b.log --json");
  CHECK(whole_command("export", {"a.json", "-o", "job"}) ==
        "penstock export a.json -o job --to megatron");
  CHECK(whole_command("plan", {"c.json", "--num-gpus", "8", "--gbs", "64"}) ==
        "penstock plan c.json --num-gpus 8 --gbs 64 --device h100-sxm");
  // Whatever it is called, it is said once.
  CHECK(whole_command("plan", {"c.json", "--cluster", "d.json", "--gbs", "64"}) ==
        "penstock plan c.json --cluster d.json --gbs 64");
  CHECK(whole_command("man", {}) == "penstock man");
}

TEST_CASE("options of a verb are taken, and those that it has not are left") {
  CHECK(options_taken("explain", "plan.json", {"--dtypes", "bf16", "--json"}) ==
        Arguments{"--json"});
  CHECK(options_taken("plan", "config.json", {"--gpus", "8", "--hours", "7"}) ==
        Arguments{"--gpus", "8"});
}

}  // namespace penstock
