#include "cli/answers/commands/refusal_of.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

namespace penstock {

TEST_CASE("a command that is tried writes nothing and says what would be refused") {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("penstock_refusal_" + std::to_string(getpid()) + ".json"))
                               .string();
  const Arguments plan{"plan", "data/models/gpt2.json", "--device", "a100", "--gpus",
                       "8",    "--global-batch",        "64",       "-o",   path};
  CHECK(!refusal_of(plan));
  CHECK(!refusal_of({"estimate", "data/models/gpt2.json", "--device", "a100", "-o", path}));
  CHECK(!std::filesystem::exists(path));
  Arguments wrong = plan;
  wrong[5] = "many";
  const auto refusal = refusal_of(wrong);
  REQUIRE(refusal);
  CHECK(refusal->find("--gpus: 'many' is not a") == 0);
}

TEST_CASE("what trains or speaks to another machine is never tried") {
  CHECK(!refusal_of({"train", "none.json"}));
  CHECK(!refusal_of({"tell", "none", "stop"}));
  CHECK(!refusal_of({}));
}

}  // namespace penstock
