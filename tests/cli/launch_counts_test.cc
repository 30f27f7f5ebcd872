#include "cli/options/launch_counts.h"

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
  CHECK(found[0].words == Arguments{"--global-batch", "1024", "--pin", "mbs=2"});
  const std::vector<CountsMeant> unknown = meant(typed, kPlan);
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].words.empty());
  with_gpus.insert(with_gpus.end(), {"--gbs", "512"});
  CHECK(meant(with_gpus, kPlan).empty());
}

TEST_CASE("costs that have options of their own are one option") {
  const std::vector<CountsMeant> found = meant({"--fwd", "1ms", "--bwd=2ms"}, kSchedule);
  REQUIRE(found.size() == 1);
  CHECK(found[0].words == Arguments{"--cost", "F=1ms,B=2ms"});
  const std::vector<CountsMeant> more = meant({"--cost", "F=1ms,B=2ms", "--p2p", "1us"}, kSchedule);
  REQUIRE(more.size() == 1);
  CHECK(more[0].words == Arguments{"--cost", "F=1ms,B=2ms,C=1us"});
  CHECK(meant({"--fwd", "1ms"}, kSchedule).empty());                           // no backward
  CHECK(meant({"--cost", "F=1ms,B=2ms", "--fwd", "3ms"}, kSchedule).empty());  // which F?
}
