#include "cli/answers/files/typed_files.h"

#include <doctest/doctest.h>

namespace penstock {

TEST_CASE("a file that is not there is what its name says") {
  CHECK(role_of("job/run.sbatch") == FileRole::kScript);
  CHECK(role_of("ds_config.json") == FileRole::kScript);
  CHECK(role_of("out/plan_zb.json") == FileRole::kPlan);
  CHECK(role_of("none/models/llama.json") == FileRole::kModel);
  CHECK(role_of("meta-llama/Llama-2-7b") == FileRole::kModel);
  CHECK(role_of("s3://bucket/x") == FileRole::kModel);
  CHECK(role_of("train.log") == FileRole::kLog);
  // A word, an option, a number, a folder that nobody knows.
  for (const char* word : {"bubble", "--gpus", "64", "a/b", "../job", ""}) {
    CHECK(role_of(word) == FileRole::kNone);
  }
}

TEST_CASE("files are found behind options as well") {
  const TypedFiles files = typed_files({"--log=train.log", "-f", "plan_a.json", "plan_b.json"});
  CHECK(files.logs == Arguments{"train.log"});
  CHECK(files.plans == Arguments{"plan_a.json", "plan_b.json"});
  CHECK(files.models.empty());
  CHECK(plans_or_json({"plan_a.json", "megatron.json", "train.log"}) ==
        Arguments{"plan_a.json", "megatron.json"});
}

}  // namespace penstock
