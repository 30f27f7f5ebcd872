// What the program refuses is made up here, as in tried_proposals_test.cc. Files are of their kind
// by their names, as none of them is there.
#include "cli/answers/commands/filled_commands.h"

#include <algorithm>
#include <optional>
#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

const RefusalOf kTakesAll = [](const Arguments& /*words*/) { return std::nullopt; };
const RefusalOf kTakesNone = [](const Arguments& /*words*/) {
  return std::optional<std::string>("--device: there is no such device");
};
const Arguments kTyped{"plan", "models/a.json",  "--device", "h100",    "--gpus",
                       "16",   "--global-batch", "64",       "--sweep", "tp"};

}  // namespace

TEST_CASE("the dots are the model and the options that were typed, and no others") {
  CHECK(with_filled_commands("unknown option '--sweep'\nhelp: penstock compare ... --vary "
                             "TP=1,2,4 plans for each value",
                             kTyped, kTakesAll) ==
        "unknown option '--sweep'\nhelp: penstock compare models/a.json --device h100 --gpus 16 "
        "--global-batch 64 --vary TP=1,2,4 plans for each value");
}

TEST_CASE("what the answer says wins over what was typed, and what it refuses is left out") {
  CHECK(with_filled_commands("--device: 'h100' is several\nhelp: penstock compare ... --vary "
                             "gpus=8,16 (docs/user_guide.md)",
                             kTyped, kTakesAll) ==
        "--device: 'h100' is several\nhelp: penstock compare models/a.json --global-batch 64 "
        "--vary gpus=8,16 --device h100-sxm (docs/user_guide.md)");
}

TEST_CASE("dots stay where the whole would be refused, and where no model was typed") {
  const std::string message = "unknown option '--x'\nhelp: penstock plan ... --tokens N";
  CHECK(with_filled_commands(message, kTyped, kTakesNone) == message);
  CHECK(with_filled_commands(message, {"plan", "--x"}, kTakesAll) == message);
}

TEST_CASE("a layout that was typed takes the place of example numbers") {
  CHECK(with_filled_examples("unknown option '--vary'\nhelp: penstock compare config.json --device "
                             "h100-sxm --gpus 64 --global-batch 512 --vary mbs=1,2",
                             {"predict", "models/a.json", "--device", "b200", "--layout",
                              "TP=4 PP=2 DP=2 mbs=1 gbs=32", "--vary", "mbs=1,2"},
                             kTakesAll) ==
        "unknown option '--vary'\nhelp: penstock compare models/a.json --device b200 --pin "
        "TP=4,PP=2,DP=2 --global-batch 32 --gpus 16 --vary mbs=1,2");
}

TEST_CASE("examples stay where nothing more was typed") {
  const std::string message =
      "--device, --gpus: missing\nhelp: penstock plan models/a.json --device h100-sxm --gpus 64";
  CHECK(with_filled_examples(message, {"plan", "models/a.json"}, kTakesAll) == message);
}

}  // namespace penstock
