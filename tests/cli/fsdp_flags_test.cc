#include "cli/answers/options/fsdp_flags.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace penstock;

namespace {

std::string sharding(const Arguments& arguments) {
  const std::vector<std::string> known{"--sharding", "--zero1", "--gpus"};
  const std::vector<OptionRemark> remarks;
  const std::function<const WordIndex&()> index;
  const auto meant = sharding_meant(arguments, Asked{known, remarks, index});
  return meant ? meant->words.back() : "";
}

}  // namespace

TEST_CASE("flags of FSDP and its strategy are one --sharding") {
  CHECK(sharding({"--use-torch-fsdp2"}) == "fsdp");
  CHECK(sharding({"--use-torch-fsdp2", "--data-parallel-sharding-strategy",
                  "optim_grads_params"}) == "fsdp");
  CHECK(sharding({"--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim_grads"}) ==
        "zero2");
  CHECK(sharding({"--data-parallel-sharding-strategy=optim_grads_params", "--use-megatron-fsdp"}) ==
        "zero3");
  CHECK(sharding({"--use-custom-fsdp", "--data-parallel-sharding-strategy", "optim"}) == "zero1");
  CHECK(sharding({"--fsdp", "full_shard auto_wrap"}) == "fsdp");
  CHECK(sharding({"--fsdp", "shard_grad_op"}) == "zero2");
  CHECK(sharding({"--fsdp=hybrid_shard"}) == "fsdp:8");
  CHECK(sharding({"--fsdp"}) == "fsdp");
}

TEST_CASE("without such a flag, and beside --sharding, nothing is read") {
  CHECK(sharding({"--data-parallel-sharding-strategy", "optim"}).empty());
  CHECK(sharding({"--use-torch-fsdp2", "--sharding", "zero3"}).empty());
  CHECK(sharding({"--", "--use-torch-fsdp2"}).empty());
  CHECK(sharding({"--gpus", "8"}).empty());
}
