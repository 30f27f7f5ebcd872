// One table for planning, exports, checks of launch files and readers of logs; and facts that are
// complete, so that no user meets a missing one.
#include "trainers/trainer_table.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "trainers/flag_names.h"
#include "trainers/logs/trainer_log.h"
#include "trainers/megatron/megatron_flags.h"
#include "trainers/torchtitan/torchtitan_version.h"
#include "trainers/trainer_facts.h"

namespace penstock {
namespace {

TEST_CASE("a flag's trainer is called as its authors write it, in any spelling of the flag") {
  CHECK(trainer_with_flag("moe_grouped_gemm") == "Megatron-LM");
  CHECK(trainer_with_flag("Zero_Optimization") == "DeepSpeed");
  CHECK(trainer_with_flag("no_flag_of_anybody").empty());
}

TEST_CASE("plans are made for a version of a trainer; its default goes by the plain name") {
  CHECK(trainer_names() == std::vector<std::string>{"penstock", "pytorch", "torchtitan",
                                                    "torchtitan@0.1", "torchtitan@head", "megatron",
                                                    "deepspeed"});
  for (const std::string& name : trainer_names()) {
    REQUIRE(find_trainer(name) != nullptr);
    CHECK(find_trainer(name)->name == name);
  }
  CHECK(find_trainer("torchtitan@0.2") == find_trainer("torchtitan"));
  CHECK(find_trainer("pytorch@2.5") == find_trainer("pytorch"));
  CHECK(find_trainer("megatron-bridge") == find_trainer("megatron"));
  CHECK(find_trainer("megatron-bridge@0.6") == find_trainer("megatron"));
  CHECK(find_trainer("deepspeed@0.19") == find_trainer("deepspeed"));
  for (const char* none : {"", "@", "penstock@", "penstock@1", "megatron@", "megatron@0.19",
                           "varuna", "varuna@1.0", "torchtitan@0.2@0.2"}) {
    CHECK(find_trainer(none) == nullptr);
  }
}

TEST_CASE("the newest release is the default, and the main branch comes last") {
  CHECK(versions_in_words({"pytorch", "torchtitan", "megatron"}) ==
        "pytorch: 2.6, 2.5; torchtitan: 0.2, 0.1, head; megatron: 0.20");
  CHECK(exported_trainer_names() == std::vector<std::string>{"pytorch", "torchtitan", "megatron",
                                                             "megatron-bridge", "deepspeed",
                                                             "varuna"});
  CHECK(linted_trainer_names() ==
        std::vector<std::string>{"torchtitan", "megatron", "deepspeed", "verl"});
  for (const TrainerRow& row : trainer_table()) CHECK(find_trainer_row(row.name) == &row);
}

TEST_CASE("limits and executors are those that the trainers have") {
  const Trainer& megatron = *find_trainer("megatron");
  CHECK(megatron.title == "Megatron-LM");
  CHECK(megatron.executor.name == "sender-blocks (as megatron)");
  CHECK(megatron.executor.transfer == TransferMode::kSenderBlocks);
  CHECK(megatron.divided_recompute == DividedRecompute::kOneNumber);
  const Trainer& deepspeed = *find_trainer("deepspeed");
  CHECK(deepspeed.executor.transfer == TransferMode::kRendezvous);
  CHECK(deepspeed.executor.issue == IssueOrder::kDeepSpeed);
  CHECK(deepspeed.schedule_names == std::vector<std::string>{"1f1b"});
  CHECK(find_trainer("penstock")->schedules == TrainerSchedules::kOwnRuntime);
  CHECK(find_trainer("pytorch")->divided_recompute == DividedRecompute::kPerStage);
  CHECK(find_trainer("torchtitan@0.1")->layer_on == LayerOnStage::kAllStages);
  CHECK(find_trainer("torchtitan")->layer_on == LayerOnStage::kNotNeeded);
}

TEST_CASE("a limit that needs a reason has one") {
  for (const std::string& name : trainer_names()) {
    CAPTURE(name);
    const Trainer& trainer = *find_trainer(name);
    CHECK(trainer.schedule_names.empty() == trainer.why_no_other_schedule.empty());
    CHECK(trainer.recompute_modes.has_value() == !trainer.why_no_other_mode.empty());
    CHECK((trainer.layer_on != LayerOnStage::kNotNeeded) == !trainer.why_a_layer.empty());
    CHECK((trainer.counts_layers || trainer.why_whole_front.empty()));
  }
}

TEST_CASE("every file of facts is one of a trainer, and has what its code asks for") {
  for (const ShippedFacts& shipped : shipped_facts()) {
    CAPTURE(shipped.folder);
    CHECK(std::any_of(trainer_table().begin(), trainer_table().end(),
                      [&](const TrainerRow& row) { return row.folder == shipped.folder; }));
    CHECK(fact_text(facts_of(shipped.folder, shipped.name), "format") == "penstock.trainer/1");
  }
  for (const TrainerVersion& version : find_trainer_row("torchtitan")->versions) {
    CHECK_FALSE(torchtitan_version(*version.facts).models->elements().empty());
    CHECK(has_fact(*version.facts, "keys", "parallelism.pipeline_parallel_degree"));
  }
  const MegatronFlags flags = megatron_flags("0.20");
  CHECK(flags.own.size() == 876);
  CHECK(flags.has("pipeline-model-parallel-layout"));
  CHECK_FALSE(flags.has("deepspeed"));
  const std::vector<std::string_view> groups = flags.groups_with("checkpoint-num-layers");
  CHECK(std::find(groups.begin(), groups.end(), kOlder) != groups.end());
  REQUIRE(flags.find_renamed("warmup") != nullptr);
  CHECK(flags.find_renamed("warmup")->now == "--lr-warmup-fraction");
  CHECK(has_fact(*find_trainer_row("deepspeed")->versions.front().facts, "keys", "optimizer"));
}

TEST_CASE("a log is of the trainer that is surest of it") {
  CHECK(trainer_of_log("step: 1 tps: 2") == find_trainer_row("torchtitan"));
  CHECK(trainer_of_log("elapsed time per iteration (ms): 3 step: 1 tps: 2") ==
        find_trainer_row("megatron"));
  CHECK(trainer_of_log("hello") == nullptr);
}

}  // namespace
}  // namespace penstock
