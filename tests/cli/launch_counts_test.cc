#include "cli/answers/options/launch_counts.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace penstock;

namespace {

const std::vector<std::string> kPlan{"--pin", "--gpus", "--nodes", "--global-batch", "--cluster"};
const std::vector<std::string> kSchedule{"-P", "-M", "--cost"};

std::vector<CountsMeant> meant(const Arguments& arguments, const std::vector<std::string>& known) {
  const std::vector<OptionRemark> remarks;
  const std::function<const WordIndex&()> index;
  return counts_meant(arguments, Asked{known, remarks, index});
}

}  // namespace

// 4 nodes of 8 are 32 GPUs.
TEST_CASE("nodes and the processes of each are a number of GPUs") {
  for (const Arguments& typed :
       {Arguments{"--nnodes", "4", "--nproc_per_node", "8"}, Arguments{"--nodes=4", "--gres=gpu:8"},
        Arguments{"-N", "4", "--ntasks-per-node=8"},
        Arguments{"--gpus-per-node", "h100:8", "--trainer.num_nodes", "4"}}) {
    const std::vector<CountsMeant> found = meant(typed, kPlan);
    REQUIRE(found.size() == 1);
    CHECK(found[0].words == Arguments{"--gpus", "32"});
  }
  CHECK(meant({"--nodes", "4"}, kPlan).empty());
  CHECK(meant({"-", "--", "--nnodes", "4", "--nproc", "8"}, kPlan).empty());
  CHECK(meant({"---", "--=5", "-=", "=", ""}, kPlan).empty());
  CHECK(meant({"--nnodes", "1:4", "--nproc_per_node", "8"}, kPlan).empty());
  CHECK(meant({"--nnodes", "4", "--nproc_per_node", "8"}, kSchedule).empty());
}

// Slurm starts one task per node, torchrun the others; loaders of data are no GPUs.
TEST_CASE("of several counts per node that of GPUs is taken, and all are named") {
  const std::vector<CountsMeant> tasks =
      meant({"--nodes", "4", "--gpus-per-node", "8", "--ntasks-per-node", "1"}, kPlan);
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].words == Arguments{"--gpus", "32"});
  CHECK(tasks[0].names ==
        std::vector<std::string>{"--nodes", "--gpus-per-node", "--ntasks-per-node"});
  const std::vector<CountsMeant> workers =
      meant({"--nodes", "4", "--nproc-per-node", "8", "--num-dataloader-workers-per-node", "16",
             "--max-tasks-per-node", "3", "--ntasks-per-node", "1"},
            kPlan);
  REQUIRE(workers.size() == 1);
  CHECK(workers[0].words == Arguments{"--gpus", "32"});
  CHECK(meant({"--nodes", "4", "--ntasks-per-node", "1"}, kPlan).empty());
  CHECK(meant({"--nodes", "4", "--gpus-per-node", "8", "--gres", "gpu:4"}, kPlan).empty());
  CHECK(meant({"--nodes", "4", "--nnodes", "2", "--nproc", "8"}, kPlan).empty());
  CHECK(meant({"--nnodes", "131072", "--nproc", "131072"}, kPlan).empty());
}

TEST_CASE("what the verb itself or a cluster file says of a node stays where it is") {
  const std::vector<CountsMeant> own =
      meant({"--gpus-per-node", "8", "--nodes", "2"}, {"--gpus", "--gpus-per-node", "--cluster"});
  REQUIRE(own.size() == 1);
  CHECK(own[0].names == std::vector<std::string>{"--nodes"});
  CHECK(own[0].words == Arguments{"--gpus", "16"});
  const std::vector<CountsMeant> filed =
      meant({"--cluster", "c.json", "--nodes", "2", "--gpus-per-node", "8"}, kPlan);
  REQUIRE(filed.size() == 1);
  CHECK(filed[0].names == std::vector<std::string>{"--gpus-per-node"});
  CHECK(filed[0].words.empty());
}

TEST_CASE("a number of GPUs that is given as well is compared with the product") {
  const std::vector<CountsMeant> same =
      meant({"--gpus", "32", "--nodes", "4", "--gpus-per-node", "8"}, kPlan);
  REQUIRE(same.size() == 1);
  CHECK(same[0].help.starts_with("leave them out"));
  const std::vector<CountsMeant> other =
      meant({"--gpus", "64", "--nodes", "4", "--gpus-per-node", "8"}, kPlan);
  REQUIRE(other.size() == 1);
  CHECK(other[0].words.empty());
  CHECK(other[0].help.find("4 nodes x 8 are 32") != std::string::npos);
}

// 2 samples, accumulated 8 times on 64 replicas: 1,024.
TEST_CASE(
    "the batch of a GPU and its accumulation are a global batch where every GPU is a replica") {
  const Arguments typed{"--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "8"};
  Arguments with_gpus = typed;
  with_gpus.insert(with_gpus.end(), {"--gpus", "64"});
  const std::vector<CountsMeant> found = meant(with_gpus, kPlan);
  REQUIRE(found.size() == 1);
  CHECK(found[0].words == Arguments{"--global-batch", "1024", "--pin", "DP=64,mbs=2"});
  const std::vector<CountsMeant> unknown = meant(typed, kPlan);
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].words.empty());
  const auto with = [&](const Arguments& more) {
    Arguments all = with_gpus;
    all.insert(all.end(), more.begin(), more.end());
    return meant(all, {"--pin", "--gpus", "--global-batch", "--global-batch-tokens", "--vary"});
  };
  for (const Arguments& batch :
       {Arguments{"--gbs", "512"}, Arguments{"--batch-tokens", "4194304"},
        Arguments{"--vary", "gbs=64,128"}, Arguments{"--global_batch_size=512"}}) {
    CHECK(with(batch).empty());
  }
  // Of 64 GPUs 8 x 4 are one replica.
  for (const Arguments& degree :
       {Arguments{"--tensor-model-parallel-size", "8"}, Arguments{"--pp=4"},
        Arguments{"--pin", "mbs=2,CP=2"}, Arguments{"--vary", "EP=1,2"}}) {
    const std::vector<CountsMeant> several = with(degree);
    REQUIRE(several.size() == 1);
    CHECK(several[0].words.empty());
  }
}

TEST_CASE("costs that have options of their own are one option") {
  const std::vector<CountsMeant> found = meant({"--fwd", "1ms", "--bwd=2ms"}, kSchedule);
  REQUIRE(found.size() == 1);
  CHECK(found[0].words == Arguments{"--cost", "F=1ms,B=2ms"});
  const std::vector<CountsMeant> more = meant({"--cost", "F=1ms,B=2ms", "--p2p", "1us"}, kSchedule);
  REQUIRE(more.size() == 1);
  CHECK(more[0].words == Arguments{"--cost", "F=1ms,B=2ms,C=1us"});
  CHECK(meant({"zb-h1", "--fwd", "1ms", "--bwd", "2ms"}, kSchedule).empty());
  CHECK(meant({"gpipe,zb-h1", "--fwd", "1ms", "--bwd", "2ms"}, kSchedule).empty());
  CHECK(meant({"--cost", "F=1ms,B=2ms", "--weight", "1ms", "--input", "1ms"}, kSchedule).empty());
  CHECK(meant({"--cost", "F=1ms,Q=2ms", "--bwd", "1ms"}, kSchedule).empty());
  CHECK(meant({"--fwd", "1ms"}, kSchedule).empty());                           // no backward
  CHECK(meant({"--cost", "F=1ms,B=2ms", "--fwd", "3ms"}, kSchedule).empty());  // which F?
}
