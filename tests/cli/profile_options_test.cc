#include "cli/options/profile_options.h"

#include <doctest/doctest.h>

#include "cli/options/options.h"
#include "tests/core/messages.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

ProfileRequest requested(const Arguments& arguments, int processors = 2) {
  ProfileOptions given;
  Options options("profile MODEL", "", "");
  given.declare(options);
  static_cast<void>(options.parse(arguments, {}));
  return given.request(processors);
}

std::string message_for(const Arguments& arguments) {
  return tests::message_of([&] { static_cast<void>(requested(arguments)); });
}

}  // namespace

TEST_CASE("a family without sizes is small, with heads of 64") {
  const ProfileRequest request = requested({"gpt"});
  CHECK(request.name == "gpt-4x256");
  REQUIRE(request.model);
  CHECK(request.model->family == ModelFamily::kGpt);
  CHECK(request.model->layers == 4);
  CHECK(request.model->hidden == 256);
  CHECK(request.model->heads == 4);
  CHECK(request.model->feed_forward == 1024);
  CHECK(request.model->vocabulary == 256);
  CHECK(request.model->positions == 256);
  CHECK_FALSE(request.model->tied_embedding);
  CHECK(request.model->precision == Precision::kFloat32);
  CHECK(request.model->optimizer == OptimizerKind::kAdamW);
  CHECK(request.micro_batch_sizes == std::vector<int>{1, 2, 4});
  CHECK(request.sequence_length == 256);
  CHECK(request.recompute == std::vector<bool>{false});
  CHECK(request.splits);
  CHECK(request.error == 0.005);
  CHECK(request.budget == 60s);
  CHECK_FALSE(request.links);
}

TEST_CASE("the sizes of a family are those that are given") {
  const ProfileRequest request = requested({"bert",
                                            "--layers",
                                            "12",
                                            "--hidden",
                                            "96",
                                            "--heads",
                                            "3",
                                            "--feed-forward",
                                            "200",
                                            "--vocabulary",
                                            "300",
                                            "--positions",
                                            "64",
                                            "--tied",
                                            "--precision",
                                            "bfloat16",
                                            "--optimizer",
                                            "sgd",
                                            "--sequence-length",
                                            "32",
                                            "--micro-batch-sizes",
                                            "8,2",
                                            "--recompute",
                                            "none,full",
                                            "--fused-only",
                                            "--every-section"});
  CHECK(request.name == "bert-12x96");
  REQUIRE(request.model);
  CHECK(request.model->family == ModelFamily::kBert);
  CHECK(request.model->heads == 3);
  CHECK(request.model->feed_forward == 200);
  CHECK(request.model->vocabulary == 300);
  CHECK(request.model->positions == 64);
  CHECK(request.model->tied_embedding);
  CHECK(request.model->precision == Precision::kBFloat16);
  CHECK(request.model->optimizer == OptimizerKind::kSgd);
  CHECK(request.sequence_length == 32);
  CHECK(request.micro_batch_sizes == std::vector<int>{2, 8});
  CHECK(request.recompute == std::vector<bool>{false, true});
  CHECK_FALSE(request.splits);
  CHECK(request.every_section);
}

TEST_CASE("several lengths are measured, and the longest is the model's") {
  const ProfileRequest request = requested({"gpt", "--sequence-length", "128,32,64"});
  CHECK(request.sequence_lengths == std::vector<int>{32, 64, 128});
  CHECK(request.sequence_length == 128);
}

TEST_CASE("a narrow model has one head, an mlp none") {
  CHECK(requested({"gpt", "--hidden", "32"}).model->heads == 1);
  CHECK(requested({"mlp", "--hidden", "32"}).model->feed_forward == 128);
  CHECK(message_for({"mlp", "--heads", "2"}) ==
        "--heads: an mlp has no attention\nhelp: leave it out");
  CHECK(message_for({"gpt", "--heads", "3"}) ==
        "--heads: 3 heads do not divide the hidden size 256\nhelp: give a divisor of --hidden");
}

// One rank beside the one that is measured, where it has a processor of its own.
TEST_CASE("ranks are as many as the sections or the links need") {
  CHECK(requested({"gpt"}).ranks() == 2);
  CHECK(requested({"gpt"}, 1).ranks() == 1);
  CHECK(requested({"gpt", "--device", "cuda:1"}).ranks() == 1);
  CHECK(requested({"gpt", "--beside", "3"}).ranks() == 4);
  CHECK(requested({"gpt", "--links", "--participants", "4"}).ranks() == 4);
  const ProfileRequest links = requested({"none", "--busy-links", "--largest", "2"});
  CHECK(links.links);
  CHECK(links.busy_links);
  CHECK_FALSE(links.model);
  CHECK(links.largest_message == Bytes{2 << 20});
  CHECK(links.ranks() == 2);
}

TEST_CASE("a GPU's own name is asked for later, unless one is given") {
  CHECK(requested({"gpt"}).device_type == "cpu");
  CHECK(requested({"gpt", "--device", "cuda"}).device_type.empty());
  CHECK(requested({"gpt", "--device", "cuda", "--device-type", "h200"}).device_type == "h200");
}

TEST_CASE("words that are none are refused with those that are") {
  CHECK(message_for({"gpt", "--precision", "int8"}) ==
        "--precision: there is no 'int8'\nhelp: expected float32, bfloat16, float16 or float64");
  CHECK(message_for({"gpt", "--optimizer", "lion"}) ==
        "--optimizer: there is no 'lion'\nhelp: expected adamw or sgd");
  CHECK(
      message_for({"gpt", "--device", "tpu"}) ==
      "--device: there is no 'tpu'\nhelp: expected cpu, cuda or cuda:N, a device of this "
      "machine, which is measured; penstock estimate config.json --device h100-sxm estimates for a "
      "GPU that is not here, and plan takes --device h100-sxm at once");
  CHECK(message_for({"gpt", "--recompute", "some"}) ==
        "--recompute: there is no mode 'some'\nhelp: expected none, full or none,full");
}

TEST_CASE("what is said twice is refused") {
  CHECK(message_for({"gpt", "--recompute", "full,full"}) ==
        "--recompute: 'full' is given twice\nhelp: keep one of them");
  CHECK(message_for({"gpt", "--micro-batch-sizes", "2,4,2"}) ==
        "--micro-batch-sizes: a size is given twice in 2,4,2\nhelp: keep one of them");
}

TEST_CASE("numbers have limits") {
  CHECK(message_for({"gpt", "--layers", "0"}) ==
        "--layers: '0' is too small\nhelp: give a whole number, from 1 to 1048576");
  CHECK(message_for({"gpt", "--hidden", "1048577"}) ==
        "--hidden: '1048577' is too large\nhelp: give a whole number, from 1 to 1048576");
  CHECK(message_for({"gpt", "--vocabulary", "255"}) ==
        "--vocabulary: '255' is too small\nhelp: give a whole number, from 256 to 1048576");
  CHECK(message_for({"gpt", "--micro-batch-sizes", "1,1000001"}) ==
        "--micro-batch-sizes: '1000001' is too large\nhelp: give a whole number, from 1 to "
        "1000000");
  CHECK(message_for({"gpt", "--beside", "64"}) ==
        "--beside: '64' is too large\nhelp: give a whole number, from 0 to 63");
  CHECK(message_for({"none", "--links", "--participants", "1"}) ==
        "--participants: '1' is too small\nhelp: give a whole number, from 2 to 64");
  CHECK(message_for({"none", "--links", "--largest", "1025"}) ==
        "--largest: '1025' is too large\nhelp: give a whole number, from 1 to 1024");
  CHECK(message_for({"gpt", "--spread", "0"}) ==
        "--spread: '0' is out of range\nhelp: give a number from 0.01 to 100");
  CHECK(message_for({"gpt", "--budget", "60"}) ==
        "--budget: '60' has no unit\nhelp: write 60ms, or another of ns, us, ms, s");
}

TEST_CASE("options that do not go together are refused") {
  CHECK(message_for({"gpt", "--sequence-length", "257"}) ==
        "--sequence-length: 257 is beyond the model's 256 positions\nhelp: shorten it, or give "
        "--positions");
  CHECK(message_for({"x.pt", "--layers", "2"}) ==
        "--layers, --hidden, ...: x.pt has its own sizes\nhelp: leave these options out, or give "
        "gpt, "
        "bert, mlp or t5 as MODEL");
  CHECK(message_for({"gpt", "--participants", "4"}) ==
        "--participants: it counts the ranks of --links, and no links are measured\nhelp: add "
        "--links");
  CHECK(message_for({"none"}) ==
        "MODEL: without a model there is nothing to measure\nhelp: name a model, or add --links to "
        "measure only "
        "the links");
}
