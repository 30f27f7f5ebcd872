#include "runtime_bridge/resume.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

using Names = std::vector<std::string>;
using tests::message_of;

PlanFile plan() {
  PlanFile plan;
  plan.section_names = {"embedding", "blocks.0", "head"};
  plan.plan.global_batch = 8;
  plan.plan.sequence_length = 32;
  plan.description.emplace();
  plan.description->layers = 1;
  plan.description->hidden = 32;
  return plan;
}

TrainOptions options() {
  TrainOptions options;
  options.training.learning_rate = 0.01;
  options.training.seed = 3;
  return options;
}

const CheckpointData kData{"corpus.txt", 4711, "xxh64:0000000000000001"};

Checkpoint checkpoint() {
  Checkpoint made;
  made.path = "ckpt/step-10";
  made.manifest.info = checkpoint_info(plan(), "fnv1a64:1", options(), kData);
  made.manifest.info.step = 10;
  return made;
}

std::string refusal(const PlanFile& plan, const TrainOptions& options, const CheckpointData& data,
                    const Names& may_change = {}) {
  return message_of([&] {
    (void)check_resumed(checkpoint(), checkpoint_info(plan, "fnv1a64:2", options, data),
                        may_change);
  });
}

TEST_CASE("a checkpoint says what decides its run") {
  const CheckpointInfo info = checkpoint().manifest.info;
  CHECK(info.sections == 3);
  CHECK(info.global_batch == 8);
  CHECK(info.sequence_length == 32);
  CHECK(info.precision == Precision::kFloat32);
  CHECK(info.data == kData);
  CHECK(info.options.seed == 3);
}

TEST_CASE("another layout, and the same data under another name, are no change") {
  PlanFile other = plan();
  other.plan.pipeline = 4;
  other.plan.zero1 = true;
  CheckpointData moved = kData;
  moved.path = "elsewhere/corpus.txt";
  CHECK(check_resumed(checkpoint(), checkpoint_info(other, "fnv1a64:2", options(), moved), {})
            .empty());
}

TEST_CASE("what would change the samples or the sums is refused, unless it was asked for") {
  TrainOptions seeded = options();
  seeded.training.seed = 4;
  CHECK(refusal(plan(), seeded, kData) ==
        "ckpt/step-10/manifest.json: /training/seed: the checkpoint was made with the seed 3, this "
        "run has 4\nhelp: leave out --seed, or ask for the change with --may-change seed");
  CHECK(refusal(plan(), seeded, kData, {"data"}) == refusal(plan(), seeded, kData));
  CHECK(check_resumed(checkpoint(), checkpoint_info(plan(), "", seeded, kData), {"seed"}) ==
        Names{"the seed is 4 from here on; the checkpoint was made with 3"});

  CheckpointData other = kData;
  other.path = "other.txt";
  other.checksum = "xxh64:0000000000000002";
  CHECK(refusal(plan(), options(), other) ==
        "ckpt/step-10/manifest.json: /data: the checkpoint was made with the data corpus.txt (4711 "
        "bytes, xxh64:0000000000000001), this run has other.txt (4711 bytes, "
        "xxh64:0000000000000002)\nhelp: name that file with --data, or ask for the change with "
        "--may-change data");
  CHECK(refusal(plan(), options(), other, {"data"}).empty());

  PlanFile larger = plan();
  larger.plan.global_batch = 16;
  CHECK(refusal(larger, options(), kData) ==
        "ckpt/step-10/manifest.json: /global_batch: the checkpoint was made with the global batch "
        "8, this run has 16\nhelp: plan with --global-batch 8, or ask for the change with "
        "--may-change global-batch");
  PlanFile longer = plan();
  longer.plan.sequence_length = 64;
  CHECK(refusal(longer, options(), kData).find("/sequence_length: ") != std::string::npos);
  CHECK(refusal(longer, options(), kData, {"sequence-length"}).empty());
  PlanFile coarser = plan();
  coarser.description->precision = Precision::kBFloat16;
  CHECK(refusal(coarser, options(), kData).find("float32, this run has bfloat16") !=
        std::string::npos);
  CHECK(refusal(coarser, options(), kData, {"precision"}).empty());
}

TEST_CASE("numbers of the optimizer may change, and it is said") {
  TrainOptions slower = options();
  slower.training.learning_rate = 0.001;
  slower.training.clip_norm = 1.0;
  CHECK(check_resumed(checkpoint(), checkpoint_info(plan(), "", slower, kData), {}) ==
        Names{"the learning rate is 0.001 from here on; the checkpoint was made with 0.01",
              "the clip norm is 1 from here on; the checkpoint was made with 0"});
}

TEST_CASE("another model is refused whatever was asked for, with what is another") {
  PlanFile wider = plan();
  wider.description->hidden = 64;
  wider.description->optimizer = OptimizerKind::kSgd;
  CHECK(refusal(wider, options(), kData, changeable_settings()) ==
        "ckpt/step-10/manifest.json: /model: is a checkpoint of another model: hidden 32 (here "
        "64), optimizer \"adamw\" (here \"sgd\")\nhelp: give this run its own checkpoint "
        "folder");
}

TEST_CASE("an archive may lie elsewhere, if it is the same") {
  PlanFile script = plan();
  script.description = ModelDescription{};
  script.description->family = ModelFamily::kTorchScript;
  script.description->archive = "here.pt";
  script.description->archive_hash = "fnv1a64:0000000000000001";
  const std::string model = checkpoint_info(script, "", options(), kData).model;
  script.description->archive = "there.pt";
  CHECK(checkpoint_info(script, "", options(), kData).model == model);
  script.description->archive_hash = "fnv1a64:0000000000000002";
  CHECK(checkpoint_info(script, "", options(), kData).model != model);
}

}  // namespace
}  // namespace penstock
