#include "cli/words/training_kind.h"

#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace penstock;

TEST_CASE("full fine-tuning is what is planned anyway") {
  for (const auto& [name, value] :
       {std::pair{"task", "finetune"}, std::pair{"stage", "sft"}, std::pair{"mode", "pretrain"},
        std::pair{"training-type", "Full"}, std::pair{"finetuning-type", "full"},
        std::pair{"sft", ""}, std::pair{"finetune", ""}}) {
    CHECK(help_for_training_kind(name, value).starts_with("leave it out: all parameters"));
  }
}

TEST_CASE("what trains some parameters is never left out without a word") {
  for (const auto& [name, value] :
       {std::pair{"freeze", "embeddings"}, std::pair{"freeze-layers", "10"},
        std::pair{"frozen", "1-10"}, std::pair{"trainable-layers", "4"},
        std::pair{"num-frozen-layers", "2"}, std::pair{"finetuning-type", "freeze"},
        std::pair{"train-only", "head"}}) {
    const std::string help = help_for_training_kind(name, value);
    CHECK(help.find("no option freezes some") != std::string::npos);
    CHECK_FALSE(help.starts_with("leave it out"));
  }
  CHECK(help_for_training_kind("finetuning-type", "qlora").find("not modelled") !=
        std::string::npos);
  CHECK(help_for_training_kind("stage", "dpo").find("not modelled") != std::string::npos);
}

TEST_CASE("other stages, modes and tasks are not about it") {
  CHECK(help_for_training_kind("stage", "3").empty());
  CHECK(help_for_training_kind("mode", "fast").empty());
  CHECK(help_for_training_kind("tasks", "8").empty());
  CHECK(help_for_training_kind("task", "").empty());
}
