#include "cli/options/node_counts.h"

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

// Three nodes of 8 GPUs and one of 4.
ClusterSpec uneven() {
  const std::string path = "data/clusters/a100-40gb-p4d-8x8.json";
  ClusterSpec cluster = read_cluster(parse_json(read_file(path), path), path);
  cluster.node_types.push_back(cluster.node_types[0]);
  cluster.node_types[1].devices = 4;
  cluster.nodes = {{0, 3}, {1, 1}};
  return cluster;
}

std::string refusal(const std::string& text, const ClusterSpec& cluster) {
  return tests::message_of([&] { static_cast<void>(gpus_of_nodes(text, cluster)); });
}

TEST_CASE("nodes count in the order of the cluster, whatever they hold") {
  CHECK(gpus_of_nodes("2", uneven()) == "16");
  CHECK(gpus_of_nodes("1..4", uneven()) == "8,16,24,28");
  CHECK(gpus_of_nodes("4,1", uneven()) == "8,28");
  CHECK(refusal("5", uneven()).find("--nodes: 5 is more than the cluster has") == 0);
  CHECK(refusal("2 foo", uneven()).find("write --nodes 8;") != std::string::npos);
  CHECK(refusal("3..2", uneven()).find("--nodes: '3..2' ends before it begins") == 0);
  CHECK(refusal("0", uneven()).find("--nodes") == 0);
}

TEST_CASE("a number of GPUs in place of nodes is written with the option that counts GPUs") {
  const auto write = [](const char* typed, const char* options) {
    CAPTURE(typed);
    CHECK(refusal(typed, uneven()).ends_with("write " + std::string(options)));
  };
  write("16 gpus", "--gpus 16 instead of --nodes");
  write("16cards", "--gpus 16 instead of --nodes");
  write("2x8xh100", "--device h100-sxm --gpus 16 instead of --nodes");
  write("2 nodes", "--nodes 2");
  write("auto", "a number: --nodes 8");
}

TEST_CASE("a number of GPUs does not say of which type") {
  ClusterSpec cluster = uneven();
  cluster.device_types.push_back(cluster.device_types[0]);
  cluster.device_types[1].name = "other";
  cluster.node_types[1].device_type = 1;
  CHECK(refusal("1..4", cluster).find("devices of several types") != std::string::npos);
  const std::string first = cluster.device_types[0].name;
  CHECK(refusal("1..4", cluster)
            .find("--nodes " + first + "=1..4,other=1..4, or of one: --device " + first +
                  " --nodes 1..4") != std::string::npos);
}

// Two nodes of 4 A100s, then four of 4 V100s.
TEST_CASE("with a device type its nodes alone are counted") {
  SearchOptions options;
  options.cluster = "data/clusters/a100-40gb-2x4-v100-16gb-4x4.json";
  options.device = "v100-16gb";
  CHECK(gpus_of_nodes("1..4", options) == "4,8,12,16");
  options.device = "a100-40gb";
  CHECK(gpus_of_nodes("1..2", options) == "4,8");
  CHECK(tests::message_of([&] {
          static_cast<void>(gpus_of_nodes("3", options));
        }).find("has 2 nodes") != std::string::npos);
}

}  // namespace
}  // namespace penstock
