#include "cli/answers/commands/typed_for_examples.h"

#include <doctest/doctest.h>

#include "cli/answers/commands/typed_command.h"

namespace penstock {
namespace {

const RefusalOf kTakesAll = [](const Arguments&) { return std::nullopt; };

}  // namespace

TEST_CASE("what was typed stands in the place of an example") {
  CHECK(with_typed_for_examples(
            "x\nhelp: penstock plan config.json --device h100-sxm --gpus 64 --global-batch 512",
            {"plan", "none/models/llama.json", "--gpus=128", "--gbs", "1024"}, kTakesAll) ==
        "x\nhelp: penstock plan none/models/llama.json --device h100-sxm --gpus 128 "
        "--global-batch 1024");
}

TEST_CASE("all examples of whole commands are known") {
  const TypedCommand command{
      "plan MODEL --device NAME --gpus N --global-batch B [OPTIONS]", {}, {}};
  CHECK(with_typed_for_examples(
            "help: " + command.whole(),
            {"x/models/m.json", "--device", "b200", "--gpus", "8", "--global-batch", "16"},
            kTakesAll) ==
        "help: penstock plan x/models/m.json --device b200 --gpus 8 --global-batch 16");
}

TEST_CASE("values that are no examples, or were typed, stay") {
  for (const char* message :
       {"help: penstock plan c.json --gpus 8..64", "help: penstock plan c.json --gpus 32",
        "help: penstock compare c.json --vary gpus=64"}) {
    CAPTURE(message);
    CHECK(with_typed_for_examples(message, {"--gpus", "128"}, kTakesAll) == message);
  }
  const std::string typed = "help: penstock plan config.json --gpus 64";
  CHECK(with_typed_for_examples(typed, {"config.json", "--gpus", "64", "--gpus", "8"}, kTakesAll) ==
        typed);
  // Which of two models is meant is not known.
  CHECK(with_typed_for_examples(typed, {"a/models/b.json", "a/models/c.json"}, kTakesAll) == typed);
}

TEST_CASE("an example that is taken does not give way to what is refused") {
  const std::string message = "help: penstock plan c.json --gpus 64";
  const RefusalOf refuses_word = [](const Arguments& words) -> std::optional<std::string> {
    if (words.back() == "many") return "--gpus: no number";
    return std::nullopt;
  };
  CHECK(with_typed_for_examples(message, {"--gpus", "many"}, refuses_word) == message);
  CHECK(with_typed_for_examples(message, {"--gpus", "8"}, refuses_word) ==
        "help: penstock plan c.json --gpus 8");
}

}  // namespace penstock
