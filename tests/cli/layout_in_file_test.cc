#include "cli/answers/files/layout_in_file.h"

#include <fstream>

#include <doctest/doctest.h>

#include "cli/answers/verbs/plan_made.h"
#include "cli/answers/verbs/recording_typed.h"
#include "tests/core/temporary_folder.h"

namespace penstock {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

// 8 nodes of 8 GPUs, TP 2 x PP 4: 8 replicas.
TEST_CASE("a script says the layout that it starts") {
  const tests::TemporaryFolder folder;
  const std::string script = folder / "train.sh";
  write(script,
        "torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py "
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 "
        "--micro-batch-size 1 --global-batch-size 512 --seq-length 4096 "
        "--num-layers 80 --bf16 --use-distributed-optimizer\n");
  const auto said = layout_in_script(script);
  REQUIRE(said.has_value());
  CHECK(said->layout == "TP=2 PP=4 DP=8 mbs=1 gbs=512 seq=4096 sharding=zero1");
  CHECK(said->gpus == 64);
  CHECK(command_fitted_to({said->layout, 64, 512, 4096, "9s"}, "config.json",
                          {"--device", "a100", "--gpus", "32"}) ==
        "penstock plan config.json --device a100 --gpus 32 --global-batch 512 --sequence-length "
        "4096 --measured 'TP=2 PP=4 DP=8 mbs=1 gbs=512 seq=4096 sharding=zero1: 9s'");
  write(script, "python train.py --tensor-model-parallel-size 2\n");
  CHECK(!layout_in_script(script));
  CHECK(!layout_in_script("no-such-file.sh"));
}

// Of Megatron-LM it is that of attention, which fused kernels repeat anyway; torchtitan's is not.
TEST_CASE("Megatron's selective recompute is no recompute of an estimate") {
  const tests::TemporaryFolder folder;
  const std::string script = folder / "train.sh";
  const auto recompute = [&](const std::string& flags) {
    write(script,
          "torchrun --nproc_per_node 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
          "--micro-batch-size 1 --global-batch-size 64 --seq-length 4096 --num-layers 80 " +
              flags);
    return value_in_layout(layout_in_script(script).value().layout, "recompute");
  };
  CHECK(recompute("--recompute-activations").empty());
  CHECK(recompute("--recompute-granularity full --recompute-method uniform "
                  "--recompute-num-layers 1") == "full");
}

TEST_CASE("pairs of a layout take the place of those with their keys") {
  CHECK(layout_with("TP=2 PP=4 VP=2 gbs=64", {"VP=", "gbs=128", "seq=8"}) ==
        "TP=2 PP=4 gbs=128 seq=8");
  CHECK(value_in_layout("TP=2 PP=4", "PP") == "4");
  CHECK(value_in_layout("TP=2 PP=4", "P").empty());
}

TEST_CASE("numbers of GPUs that rise and fall are a recording, and those that rise are plans") {
  const Arguments course{"8", "6", "4", "8"};
  CHECK(course_in({"--gpus", "8,6,4,8"}) == course);
  CHECK(numbers_in(course) == "4,6,8");
  CHECK(course_in({"--gpus", "4,6,8"}).empty());
  CHECK(course_in({"--gpus", "8..64"}).empty());
  CHECK(command_of_recording({"8", "4"}, "t.csv") ==
        "printf 'time_s,gpus\\n0,8\\n3600,4\\n7200,4\\n' > t.csv");
  CHECK(remark_on_trace({"no-such-file.csv", ""}, 64).find("0,64\\n3600,56\\n7200,56") !=
        std::string::npos);
  CHECK(remark_on_trace({"no-such-file.csv", ""}, 8).find("0,8\\n3600,4\\n7200,4") !=
        std::string::npos);
  CHECK(range_of_recording("no-such-file.csv").empty());
  const tests::TemporaryFolder folder;
  const std::string recording = folder / "spot.csv";
  write(recording, "time_s,gpus\n0,64\n60,16\n120,0\n180,32\n240,32\n");
  CHECK(range_of_recording(recording) == "16..64:8");
  write(recording, "time_s,gpus\n0,8\n60,3\n120,3\n");
  CHECK(range_of_recording(recording) == "3..8");
}

}  // namespace penstock
