#include "cli/answers/files/hugging_face_job.h"

#include <doctest/doctest.h>

namespace penstock {

// 4 ranks of 2 samples, 8 times: 64.
TEST_CASE("a script of Accelerate says its replicas and its batch") {
  const std::string_view script =
      "accelerate launch --num_processes 4 train.py --per_device_train_batch_size=2 "
      "--gradient_accumulation_steps 8 --fsdp full_shard";
  CHECK(is_of_hugging_face(script));
  CHECK(layout_of_hugging_face(script) == "DP=4 mbs=2 gbs=64 sharding=fsdp");
}

TEST_CASE("so does its configuration, and what neither says is an example") {
  CHECK(
      layout_of_hugging_face("distributed_type: DEEPSPEED\nnum_processes: 16\n  zero_stage: 3\n") ==
      "DP=16 mbs=1 gbs=16 sharding=zero3");
  CHECK(layout_of_hugging_face("{'loss': 1.5}") == "DP=8 mbs=1 gbs=8");
  CHECK(layout_of_hugging_face("num_processes: 99999999999") == "DP=8 mbs=1 gbs=8");
}

TEST_CASE("scripts of others are none of it") {
  CHECK(!is_of_hugging_face("torchrun --nproc_per_node 8 pretrain_gpt.py"));
  CHECK(!is_of_hugging_face("num_processes: 8\n"));
}

}  // namespace penstock
