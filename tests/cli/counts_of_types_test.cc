#include "cli/options/counts_of_types.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

using Counts = std::vector<std::vector<int>>;

// Three nodes of 8 new devices and one of 4, and two of 4 old ones.
ClusterSpec uneven_cluster() {
  ClusterSpec cluster;
  cluster.name = "uneven";
  cluster.device_types.resize(2);
  cluster.device_types[0].name = "new";
  cluster.device_types[1].name = "old";
  cluster.node_types = {{"new-8", 0, 8}, {"new-4", 0, 4}, {"old-4", 1, 4}};
  cluster.nodes = {{0, 3}, {2, 2}, {1, 1}};
  return cluster;
}

std::string refused(const std::string& text, bool by_nodes = false) {
  const ClusterSpec cluster = uneven_cluster();
  return tests::message_of(
      [&] { static_cast<void>(counts_of_types(text, "--gpus", by_nodes, cluster)); });
}

TEST_CASE("every combination of the numbers of each type is asked for, but no GPUs at all") {
  const ClusterSpec cluster = uneven_cluster();
  const CountsOfTypes some = counts_of_types("old=0,4, new=0..8:8", "--gpus", false, cluster);
  CHECK(some.types == std::vector<std::string>{"new", "old"});  // as the cluster has them
  CHECK(some.counts == Counts{{0, 4}, {8, 0}, {8, 4}});
  CHECK(counts_of_types("new=8,old=4", "--gpus", false, cluster).counts == Counts{{8, 4}});
}

TEST_CASE("nodes of a type are counted in the order of the cluster, and may be uneven") {
  const ClusterSpec cluster = uneven_cluster();
  CHECK(counts_of_types("new=2..4,old=1", "--nodes", true, cluster).counts ==
        Counts{{16, 4}, {24, 4}, {28, 4}});
}

TEST_CASE("names of types may have spaces, and spaces around commas mean nothing") {
  ClusterSpec cluster = uneven_cluster();
  cluster.device_types[0].name = "the new";
  const CountsOfTypes counts =
      counts_of_types("the new = 8 , old= 0 , 4", "--gpus", false, cluster);
  CHECK(counts.types == std::vector<std::string>{"the new", "old"});
  CHECK(counts.counts == Counts{{8, 0}, {8, 4}});
}

TEST_CASE("what is no list of types is refused with what to write") {
  const auto says = [](const std::string& message, const std::string& part) {
    CAPTURE(message);
    return message.find(part) != std::string::npos;
  };
  CHECK(says(refused("newer=1,old=2"), "no devices of type 'newer'"));
  CHECK(says(refused("newer=1,old=2"), "its types are new, old"));
  CHECK(says(refused("8,old=2"), "write new=8"));
  CHECK(says(refused("old=2..8"), "write --device old --gpus 2..8"));
  CHECK(says(refused("old=2,new=4,old=3"), "old is named twice"));
  CHECK(says(refused("old=9,new=4"), "uneven has 8 GPUs of old"));
  CHECK(says(refused("old=3,new=4", true), "uneven has 2 nodes of old"));
  CHECK(says(refused("old=0,new=0"), "there are no GPUs"));
  CHECK(says(refused("old=x,new=4"), "--gpus"));
}

}  // namespace
}  // namespace penstock
