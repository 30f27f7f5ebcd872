#include "cli/answers/verbs/comparison_asked.h"

#include <doctest/doctest.h>

namespace penstock {

TEST_CASE("two layouts against each other vary the degree that differs") {
  CHECK(comparison_asked({"llama/config.json", "--gpus", "8", "--device", "h100", "--dp", "8",
                          "--vs", "--pp", "8"}) ==
        "penstock compare llama/config.json --gpus 8 --device h100 --vary PP=1,8 --global-batch "
        "512");
  CHECK(comparison_asked({"config.json", "--tp=2", "--versus", "--tp=4", "--gbs", "64"})
            .find("--vary TP=2,4") != std::string::npos);
}

TEST_CASE("a bound is a list of degrees, and other degrees stay pinned") {
  const std::string command =
      comparison_asked({"config.json", "--gpus", "16", "--gbs", "128", "--ep", "8", "--tp", "<=2"});
  CHECK(command.find("--vary TP=1,2") != std::string::npos);
  CHECK(command.find(" 128") != std::string::npos);
  CHECK(comparison_asked({"config.json", "--tp", "<8"}).find("TP=1,2,4 ") != std::string::npos);
  CHECK(comparison_asked({"config.json", "--tp", "2"}).empty());
}

TEST_CASE("strategies that have a degree are compared by it") {
  CHECK(comparison_asked({"config.json", "--strategy", "fsdp,pp"}).find("--vary PP=1,2,4,8") !=
        std::string::npos);
  CHECK(comparison_asked({"config.json", "--strategy", "fsdp"}).empty());
}

TEST_CASE("plans that are not there are made first") {
  const std::string help = plans_to_compare({"fsdp.json", "pipeline.json"});
  CHECK(help.find("--pin PP=1 ") != std::string::npos);
  CHECK(help.find("-o pipeline.json") != std::string::npos);
  CHECK(help.find("penstock report fsdp.json pipeline.json -o report.html") != std::string::npos);
  CHECK(plans_to_compare({"fsdp.json"}).empty());
}

}  // namespace penstock
