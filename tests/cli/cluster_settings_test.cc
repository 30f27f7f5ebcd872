#include "cli/options/cluster_settings.h"

#include <doctest/doctest.h>

#include "studies/change_cluster.h"
#include "tests/core/messages.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

LinkLevel level(const std::string& name) {
  LinkLevel level;
  level.name = name;
  level.bandwidth = {100.0};
  level.shared_bandwidth = {400.0};
  level.latency = 10us;
  level.curve = {{Bytes{1}, 10us}, {Bytes{100}, 30us}};
  return level;
}

ClusterSpec two_levels() {
  ClusterSpec cluster;
  cluster.levels = {level("nvlink"), level("between nodes")};
  cluster.device_types.resize(2);
  CollectiveCurve inside, across;
  inside.curve = across.curve = cluster.levels[0].curve;
  across.level = 1;
  cluster.collectives = {inside, across};
  return cluster;
}

std::string refusal(const std::string& key, const std::string& value) {
  ClusterSpec cluster = two_levels();
  return tests::message_of([&] { set(cluster, "--vary " + key, key, value); });
}

}  // namespace

TEST_CASE("a faster link keeps its latency") {
  ClusterSpec cluster = two_levels();
  scale_bandwidth(cluster, 2.0);
  for (const LinkLevel& level : cluster.levels) {
    CHECK(level.bandwidth.value == 200.0);
    CHECK(level.shared_bandwidth.value == 800.0);
    CHECK(level.latency == 10us);
    CHECK(level.curve[0].time == 10us);
    CHECK(level.curve[1].time == 20us);  // 10 us of latency, 20 us of bytes halved
  }
}

TEST_CASE("one level gets faster alone, with the collectives that cross it") {
  for (const char* key : {"link.between-nodes", "link.between nodes"}) {
    ClusterSpec cluster = two_levels();
    CHECK(set(cluster, "--vary", key, "0.5"));
    CHECK(cluster.levels[0] == two_levels().levels[0]);
    CHECK(cluster.collectives[0] == two_levels().collectives[0]);
    CHECK(cluster.levels[1].bandwidth.value == 50.0);
    CHECK(cluster.collectives[1].curve[1].time == 50us);  // 10 us, and 20 us of bytes doubled
  }
  CHECK(refusal("link.nvlnk", "2") ==
        "--vary link.nvlnk: the cluster has no level 'nvlnk'\nhelp: did you mean 'link.nvlink'?");
}

TEST_CASE("memory and price are those of every device type") {
  ClusterSpec cluster = two_levels();
  CHECK(set(cluster, "--vary", "memory-gib", "1.5"));
  CHECK(set(cluster, "--vary", "usd-per-gpu-hour", "2.25"));
  for (const DeviceType& type : cluster.device_types) {
    CHECK(type.memory == Bytes{1610612736});
    CHECK(type.usd_per_hour == 2.25);
  }
  CHECK(cluster.levels == two_levels().levels);
}

TEST_CASE("values that mean nothing are refused, and other keys are not of a cluster") {
  for (const char* key : {"bandwidth", "link.nvlink"}) {
    for (const char* value : {"0", "-1", "x", "nan", "1e9"}) {
      CHECK_MESSAGE(refusal(key, value).starts_with("--vary " + std::string(key) + ": "), value);
    }
  }
  CHECK(refusal("usd-per-gpu-hour", "-1").starts_with("--vary usd-per-gpu-hour: "));
  ClusterSpec cluster = two_levels();
  CHECK_FALSE(set(cluster, "--vary", "gpus", "2"));
  CHECK(cluster == two_levels());
}

TEST_CASE("a link of one device type is changed alone") {
  ClusterSpec cluster = two_levels();
  cluster.device_types[0].name = "a100";
  cluster.device_types[1].name = "v100 16gb";
  CHECK(set(cluster, "--vary", "link.nvlink.v100-16gb", "0.5"));
  const LinkLevel& nvlink = cluster.levels[0];
  CHECK(nvlink.bandwidth.value == 100.0);
  REQUIRE(nvlink.of_types.size() == 1);
  CHECK(nvlink.of_types[0].device_type == 1);
  CHECK(nvlink.of_types[0].bandwidth.value == 50.0);
  CHECK(nvlink.of_types[0].curve[1].time == 50us);
  // What was measured there is what the type has, twice as slow.
  REQUIRE(cluster.collectives.size() == 3);
  CHECK(cluster.collectives[0].curve[1].time == 30us);
  CHECK(cluster.collectives[2].device_type == 1);
  CHECK(cluster.collectives[2].curve[1].time == 50us);
  // A factor on the level is one on all of its types.
  CHECK(set(cluster, "--vary", "link.nvlink", "4"));
  CHECK(cluster.levels[0].bandwidth.value == 400.0);
  CHECK(cluster.levels[0].of_types[0].bandwidth.value == 200.0);
  CHECK(cluster.levels[1] == two_levels().levels[1]);
}
