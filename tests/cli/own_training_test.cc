#include "cli/answers/files/own_training.h"

#include <doctest/doctest.h>

namespace penstock {

// 4 ranks of 2 samples, 8 times: 64.
TEST_CASE("a script of Accelerate says its replicas and its batch") {
  const std::string_view script =
      "accelerate launch --num_processes 4 train.py --per_device_train_batch_size=2 "
      "--gradient_accumulation_steps 8 --fsdp full_shard";
  CHECK(is_own_training(script));
  CHECK(layout_of_training(script) == "DP=4 mbs=2 gbs=64 sharding=fsdp");
}

TEST_CASE("so does its configuration, and what neither says is an example") {
  CHECK(layout_of_training("distributed_type: DEEPSPEED\nnum_processes: 16\n  zero_stage: 3\n") ==
        "DP=16 mbs=1 gbs=16 sharding=zero3");
  CHECK(layout_of_training("{'loss': 1.5}") == "DP=8 mbs=1 gbs=8");
  CHECK(layout_of_training("num_processes: 99999999999") == "DP=8 mbs=1 gbs=8");
}

// 4 nodes of 4 GPUs.
TEST_CASE("a script of one's own says its nodes") {
  const std::string_view script =
      "#SBATCH --nodes=4\n#SBATCH --gpus-per-node=4\nsrun torchrun train.py --lr 1e-4\n";
  CHECK(is_own_training(script));
  CHECK(gpus_of_training(script).all == 16);
  CHECK(gpus_of_training(script).of_node == 4);
  CHECK(layout_of_training(script) == "DP=16 mbs=1 gbs=16");
  CHECK(gpus_of_training("echo").all == 0);
}

TEST_CASE("other texts are none of it") {
  CHECK(!is_own_training("torchrun --help"));
  CHECK(!is_own_training("num_processes: 8\n"));
}

}  // namespace penstock
