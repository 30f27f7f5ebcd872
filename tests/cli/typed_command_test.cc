#include "cli/options/typed_command.h"

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

TEST_CASE("arguments come first, in their order") {
  const TypedCommand validate{"validate PLAN RUN [OPTIONS]", {"p.json", "--json"}, {}};
  CHECK(validate.whole() == "penstock validate p.json train.log --json");
}

}  // namespace penstock
