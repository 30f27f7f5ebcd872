#include "cli/answers/commands/typed_command.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

TypedCommand schedule(Arguments words) {
  return {"schedule NAME -P N -M N --cost F=TIME,B=TIME [OPTIONS]",
          std::move(words),
          {{"-P", "--ranks"}, {"-M"}, {"--cost"}, {"--cost-file"}}};
}

}  // namespace

TEST_CASE("what is missing gets an example, and what was typed stays") {
  CHECK(schedule({}).whole() == "penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms");
  CHECK(schedule({"--ranks", "8", "--cost", "F=1ms,B=2ms"}).whole() ==
        "penstock schedule 1f1b --ranks 8 --cost F=1ms,B=2ms -M 8");
  CHECK(schedule({"zb-h1", "-P8", "-M", "24"}).whole() ==
        "penstock schedule zb-h1 -P8 -M 24 --cost F=10ms,I=10ms,W=10ms");
}

TEST_CASE("an option that takes the place of another leaves nothing missing") {
  CHECK(schedule({"gpipe", "-P", "2", "--cost-file", "c.json"}).whole() ==
        "penstock schedule gpipe -P 2 --cost-file c.json");
  const TypedCommand plan{"plan MODEL --device NAME --gpus N --global-batch B [OPTIONS]",
                          {"m.json", "--cluster", "c.json", "--global-batch-tokens", "4M"},
                          {{"--cluster"}, {"--global-batch-tokens"}}};
  CHECK(plan.whole() == "penstock plan m.json --cluster c.json --global-batch-tokens 4M");
}

TEST_CASE("lists vary where nothing else does") {
  const TypedCommand compare{"compare MODEL --gpus N --vary KEY=A,B,... [OPTIONS]",
                             {"m.json", "--schedule", "1f1b,zb-h1", "--pin", "T=1,2", "--gpus",
                              "8,16", "--global-batch", "1,024"},
                             {{"--schedule"}, {"--pin"}, {"--gpus"}, {"--global-batch"}}};
  CHECK(compare.whole() ==
        "penstock compare m.json --global-batch 1,024 --vary schedule=1f1b,zb-h1 --vary TP=1,2 "
        "--vary gpus=8,16");
}

// 256 = 8 x 8 x 4 replicas, 16 = 4 x 2 x 2.
TEST_CASE("an example of a layout divides the GPUs that were typed") {
  const auto predict = [](const char* gpus) {
    return TypedCommand{"predict MODEL --layout \"KEY=VALUE ...\" [OPTIONS]",
                        {"m.json", "--gpus", gpus, "--layout", "gbs=64"},
                        {{"--gpus"}, {"--layout"}}}
        .whole();
  };
  CHECK(predict("256") ==
        "penstock predict m.json --gpus 256 --layout gbs=64 --layout 'TP=8 PP=8 mbs=1'");
  CHECK(predict("16") ==
        "penstock predict m.json --gpus 16 --layout gbs=64 --layout 'TP=4 PP=2 mbs=1'");
}

TEST_CASE("arguments come first, in their order") {
  const TypedCommand validate{"validate PLAN RUN [OPTIONS]", {"p.json", "--json"}, {}};
  CHECK(validate.whole() == "penstock validate p.json train.log --json");
}

}  // namespace penstock
