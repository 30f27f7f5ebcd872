#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "tests/core/byte_changes.h"
#include "tests/core/small_cluster.h"

namespace penstock {
namespace {

using testing::complaint_of;
using testing::kCluster;
using testing::read;
using testing::written_and_read;

// The complaint about kCluster after its only `from` became `to`.
std::string complaint(std::string_view from, std::string_view to) {
  std::string text(kCluster);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  REQUIRE(text.find(from, at + 1) == std::string::npos);
  text.replace(at, from.size(), to);
  return complaint_of(text);
}

// kCluster as C++ values, worked out by hand.
ClusterSpec expected_cluster() {
  const LinkLevel pair{.name = "pair",
                       .devices = 2,
                       .curve = {},
                       .latency = Duration(2500),
                       .bandwidth = {6e11},
                       .shared_bandwidth = {},
                       .source = 0};
  const LinkLevel node{.name = "node",
                       .devices = 4,
                       .curve = {},
                       .latency = {},
                       .bandwidth = {3e11},
                       .shared_bandwidth = {},
                       .source = 1};
  const LinkLevel net{.name = "net",
                      .devices = 0,
                      .curve = {{{1024}, Duration(12'500)}, {{1'048'576}, Duration(60'000)}},
                      .latency = {},
                      .bandwidth = {},
                      .shared_bandwidth = {5e10},
                      .source = 1};
  return {
      .name = "small",
      .sources = {{"sheet", Origin::kDatasheet, "the vendor's", ""},
                  {"run", Origin::kMeasured, "here", ""}},
      .device_types = {{"a100", {42'505'273'344}, {1'610'612'736}, {1.555e12}, 4.1, 0},
                       {"v100", {16'000'000'000}, {0}, {9e11}, 0.0, 0}},
      .node_types = {{"p4d", 0, 8}, {"p3", 1, 4}},
      .nodes = {{0, 3}, {1, 2}},
      .levels = {pair, node, net},
      .collectives = {{CollectiveKind::kAllReduce, 1, 4, {{{1}, Duration(1)}}, 1},
                      {CollectiveKind::kAllGather, 2, 32, {{{7}, Duration(1'000'000'000)}}, 0}}};
}

TEST_CASE("a cluster is read into exact values") { CHECK(read(kCluster) == expected_cluster()); }

TEST_CASE("devices are counted over all nodes") {
  CHECK(device_count(expected_cluster()) == 32);  // 3 x 8 + 2 x 4
  CHECK(device_count(ClusterSpec{}) == 0);
}

TEST_CASE("a cluster reads back as it was written") {
  CHECK(written_and_read(expected_cluster()) == expected_cluster());
}

TEST_CASE("a cluster with every optional part, or none, reads back as it was written") {
  ClusterSpec full = expected_cluster();
  for (DeviceType& type : full.device_types) type.usd_per_hour = 0.1;
  for (LinkLevel& level : full.levels) level.shared_bandwidth = {1.0 / 3.0 * 1e10};
  full.collectives[0].kind = CollectiveKind::kReduceScatter;
  full.collectives[0].device_type = 1;
  full.levels[1].of_types = {{1, {}, Duration(7), {1e10}, {2e10}, 0},
                             {0, {{{8}, Duration(9)}}, {}, {}, {}, 1}};
  CHECK(written_and_read(full) == full);

  ClusterSpec bare = expected_cluster();
  for (DeviceType& type : bare.device_types) type.usd_per_hour = 0.0;
  bare.levels.erase(bare.levels.begin(), bare.levels.begin() + 2);
  bare.levels[0] = {.name = "net",
                    .devices = 0,
                    .curve = {},
                    .latency = Duration(1),
                    .bandwidth = {1e9},
                    .shared_bandwidth = {},
                    .source = 0};
  bare.collectives.clear();
  CHECK(written_and_read(bare) == bare);
}

TEST_CASE("a level may have values of its own for a device type") {
  std::string text(kCluster);
  const std::string level = R"("bandwidth_bytes_per_s": 3e11, "source": "run")";
  const auto with = [&](const std::string& more) {
    std::string changed = text;
    return changed.replace(changed.find(level), level.size(), level + more);
  };
  const ClusterSpec cluster = read(with(
      R"(, "by_device_type": [{"device_type": "v100", "latency_us": 5, "bandwidth_bytes_per_s": 1e10}])"));
  REQUIRE(cluster.levels[1].of_types.size() == 1);
  CHECK(cluster.levels[1].of_types[0] ==
        LinkOfType{1, {}, Duration(5000), {1e10}, {}, 1});  // the level's source
  CHECK(cluster.levels[1].bandwidth.value == 3e11);

  const auto refusal = [&](const std::string& more) {
    text = with(more);
    const std::string why = complaint_of(text);
    text = kCluster;
    return why;
  };
  CHECK(refusal(R"(, "by_device_type": [{"device_type": "t4", "latency_us": 5}])").find("t4") !=
        std::string::npos);
  CHECK(refusal(R"(, "by_device_type": [{"device_type": "v100", "latency_us": 5}])")
            .find("the speed of this level is missing") != std::string::npos);
  const std::string one = R"({"device_type": "v100", "latency_us": 5, "bandwidth_bytes_per_s": 1})";
  CHECK(refusal(R"(, "by_device_type": [)" + one + "," + one + "]")
            .find("the values of 'v100' were given before; keep one") != std::string::npos);
}

TEST_CASE("a node type may say what its host is") {
  std::string text(kCluster);
  const std::string node = R"("device_type": "a100", "devices": 8)";
  REQUIRE(text.find(node) != std::string::npos);
  const auto with = [&](const std::string& host) {
    std::string changed = text;
    return changed.replace(changed.find(node), node.size(), node + R"(, "host": )" + host);
  };
  const ClusterSpec cluster = read(with(
      R"({"memory_bytes": 1000, "bandwidth_bytes_per_s": 25e9, "devices_per_link": 2, "duplex": false})"));
  CHECK(cluster.node_types[0].host == HostOfNode{{1000}, {25e9}, 2, false, 0});
  CHECK_FALSE(cluster.node_types[1].host.has_value());
  CHECK(written_and_read(cluster) == cluster);
  CHECK(complaint_of(with(R"({"memory_bytes": 0, "bandwidth_bytes_per_s": 1})"))
            .find("/node_types/0/host/memory_bytes: expected a number of bytes > 0") !=
        std::string::npos);
  CHECK(complaint_of(
            with(R"({"memory_bytes": 1, "bandwidth_bytes_per_s": 1, "devices_per_link": 9})"))
            .find("/node_types/0/host/devices_per_link") != std::string::npos);
}

TEST_CASE("a single device needs no link") {
  ClusterSpec alone = expected_cluster();
  alone.node_types = {{"desk", 0, 1}};
  alone.nodes = {{0, 1}};
  alone.levels.clear();
  alone.collectives.clear();
  CHECK(written_and_read(alone) == alone);
}

TEST_CASE("the schema knows every key that is written") {
  const std::string path = "data/schemas/penstock.cluster-1.schema.json";
  const std::string schema = read_file(path);
  CHECK(parse_json(schema, path).find("additionalProperties")->boolean() == false);
  const Json file = write_cluster(expected_cluster());
  for (const Json::Member& member : file.members()) {
    CHECK(schema.find("\"" + member.first + "\": {") != std::string::npos);
    for (const Json& element : member.second.elements()) {
      for (const Json::Member& inner : element.members()) {
        CAPTURE(inner.first);
        if (inner.first.ends_with("_ns")) continue;  // patterns in the schema
        CHECK(schema.find("\"" + inner.first + "\": {") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a missing link is an error") {
  const std::string_view text = kCluster;
  const std::size_t begin = text.find("    {\"name\": \"pair\"");
  const std::size_t end = text.find("  ],\n  \"collectives\"");
  CHECK(complaint(text.substr(begin, end - begin), "") ==
        "c.json:16: /levels: there is no link between the 32 devices; add a level, without "
        "\"devices\", that joins them all");
}

TEST_CASE("the speed of a level is a curve, or latency and bandwidth") {
  CHECK(
      complaint("\"latency_us\": 2.5, ", "") ==
      "c.json:17: /levels/0: the speed of this level is missing; add \"latency_ns\" (or _us, _ms, "
      "_s) and \"bandwidth_bytes_per_s\", or a \"curve\"");
  CHECK(
      complaint("\"curve\": [{\"bytes\": 1024",
                "\"latency_us\": 1, \"curve\": [{\"bytes\": 1024") ==
      "c.json:20: /levels/2/curve: a level has a curve or latency and bandwidth, not both; remove "
      "one");
}

TEST_CASE("a rate of zero, below zero or beyond all bounds is refused") {
  CHECK(complaint("\"bandwidth_bytes_per_s\": 600000000000", "\"bandwidth_bytes_per_s\": 0") ==
        "c.json:17: /levels/0/bandwidth_bytes_per_s: expected a number > 0, got 0");
  CHECK(complaint("\"shared_bandwidth_bytes_per_s\": 50000000000",
                  "\"shared_bandwidth_bytes_per_s\": 0") ==
        "c.json:19: /levels/2/shared_bandwidth_bytes_per_s: expected a number > 0, got 0");
  CHECK(complaint("1555000000000", "-1") ==
        "c.json:7: /device_types/0/memory_bandwidth_bytes_per_s: expected a number > 0, got -1");
  CHECK(complaint("1555000000000", "1e999") == "c.json:7: number overflow parsing '1e999'");
}

TEST_CASE("levels are nested") {
  CHECK(complaint("\"node\", \"devices\": 4", "\"node\", \"devices\": 3") ==
        "c.json:18: /levels/1/devices: expected a multiple of 2, what the level before joins, and "
        "more than it, got 3");
  CHECK(complaint("\"node\", \"devices\": 4", "\"node\", \"devices\": 2") ==
        "c.json:18: /levels/1/devices: expected a multiple of 2, what the level before joins, and "
        "more than it, got 2");
  CHECK(complaint("\"pair\", \"devices\": 2", "\"pair\", \"devices\": 1") ==
        "c.json:17: /levels/0/devices: expected a multiple of 1, what the level before joins, and "
        "more than it, got 1");
}

TEST_CASE("the last level joins all devices, and only the last") {
  CHECK(
      complaint("\"name\": \"net\"", "\"name\": \"net\", \"devices\": 32") ==
      "c.json:19: /levels/2/devices: the last level joins all devices; remove \"devices\", or add "
      "a level");
  CHECK(complaint("\"pair\", \"devices\": 2", "\"pair\"") ==
        "c.json:17: /levels/0: the key \"devices\" is missing here; add it: how many consecutive "
        "devices one domain joins (only the last level joins all)");
}

TEST_CASE("curves ascend in bytes and do not fall in time") {
  CHECK(complaint("\"bytes\": 1048576", "\"bytes\": 1024") ==
        "c.json:20: /levels/2/curve/1/bytes: expected more bytes than 1024, ascending, got 1024");
  CHECK(complaint("\"time_us\": 60", "\"time_us\": 12.4") ==
        "c.json:20: /levels/2/curve/1: expected a time of at least 12500 ns, that of the smaller "
        "message before, got 12400 ns");
  CHECK(complaint("\"time_us\": 60", "\"time_us\": 12.5").empty());
}

TEST_CASE("curves have points, of more than no bytes and no time") {
  CHECK(
      complaint("{\"bytes\": 1, \"time_ns\": 1}", "") ==
      "c.json:24: /collectives/0/curve: expected at least one point {\"bytes\", \"time_ns\"}, got "
      "none");
  CHECK(complaint("\"bytes\": 1,", "\"bytes\": 0,") ==
        "c.json:24: /collectives/0/curve/0/bytes: expected more bytes than 0, ascending, got 0");
  CHECK(complaint("\"time_ns\": 1}", "\"time_ns\": 0}") ==
        "c.json:24: /collectives/0/curve/0: expected a time > 0, got 0");
  CHECK(complaint(", \"time_ns\": 1}", "}") ==
        "c.json:24: /collectives/0/curve/0: the key \"time_ns\" (or _us, _ms, _s) is missing here; "
        "add it");
}

TEST_CASE("memory is more than nothing and more than the reserve") {
  CHECK(complaint("42505273344", "0") ==
        "c.json:6: /device_types/0/memory_bytes: expected a number of bytes > 0, got 0");
  CHECK(complaint("1610612736", "42505273344") ==
        "c.json:6: /device_types/0/reserve_bytes: expected fewer bytes than memory_bytes, "
        "42505273344, got 42505273344");
}

TEST_CASE("there are nodes, and devices in them") {
  CHECK(complaint("\"count\": 3", "\"count\": 0") ==
        "c.json:15: /nodes/0/count: expected an integer from 1 to 10000000, got 0");
  CHECK(complaint("\"devices\": 8", "\"devices\": -8") ==
        "c.json:12: /node_types/0/devices: expected an integer from 1 to 10000000, got -8");
  CHECK(complaint("{\"node_type\": \"p4d\", \"count\": 3}, {\"node_type\": \"p3\", \"count\": 2}",
                  "") ==
        "c.json:15: /nodes: expected at least one element, {\"node_type\": .., \"count\": ..}, got "
        "none");
}

TEST_CASE("ten million devices are the most") {
  // 24 + 4 x 2499994 = 10,000,000; one more node of four is too many
  CHECK(complaint("\"count\": 2", "\"count\": 2499994").empty());
  CHECK(complaint("\"count\": 2", "\"count\": 2499995") ==
        "c.json:15: /nodes/1: expected at most 10000000 devices in the cluster, got 10000004 up to "
        "here; lower count");
  CHECK(complaint("\"count\": 3", "\"count\": 10000000") ==
        "c.json:15: /nodes/0: expected at most 10000000 devices in the cluster, got 80000000 up to "
        "here; lower count");
}

TEST_CASE("names that do not resolve are refused with those there are") {
  CHECK(
      complaint("\"device_type\": \"a100\"", "\"device_type\": \"h100\"") ==
      "c.json:12: /node_types/0/device_type: there is no device type \"h100\"; there is \"a100\", "
      "\"v100\"");
  CHECK(complaint("\"node_type\": \"p4d\"", "\"node_type\": \"p5\"") ==
        "c.json:15: /nodes/0/node_type: there is no node type \"p5\"; there is \"p3\", \"p4d\"");
  CHECK(
      complaint("\"level\": \"net\"", "\"level\": \"nvlink\"") ==
      "c.json:25: /collectives/1/level: there is no level \"nvlink\"; there is \"net\", \"node\", "
      "\"pair\"");
  CHECK(complaint("\"source\": \"sheet\"", "\"source\": \"sheets\"") ==
        "c.json:7: /device_types/0/source: there is no source \"sheets\"; there is \"run\", "
        "\"sheet\"");
}

TEST_CASE("names that appear twice are refused") {
  CHECK(complaint("\"name\": \"v100\"", "\"name\": \"a100\"") ==
        "c.json:8: /device_types/1/name: there are two device types with the name \"a100\"; rename "
        "one");
  CHECK(
      complaint("\"name\": \"p3\"", "\"name\": \"p4d\"") ==
      "c.json:13: /node_types/1/name: there are two node types with the name \"p4d\"; rename one");
  CHECK(complaint("\"name\": \"node\"", "\"name\": \"pair\"") ==
        "c.json:18: /levels/1/name: there are two levels with the name \"pair\"; rename one");
}

TEST_CASE("a collective is one of three kinds, among two or more devices of its level") {
  CHECK(complaint("\"all_gather\"", "\"gather\"") ==
        "c.json:25: /collectives/1/kind: expected \"all_reduce\", \"reduce_scatter\" or "
        "\"all_gather\", got \"gather\"");
  CHECK(complaint("\"participants\": 4", "\"participants\": 1") ==
        "c.json:23: /collectives/0/participants: expected an integer from 2 to 10000000, got 1");
  CHECK(complaint("\"participants\": 4", "\"participants\": 5") ==
        "c.json:23: /collectives/0/participants: expected at most 4 participants, what the level "
        "joins, got 5");
  CHECK(complaint("\"participants\": 32", "\"participants\": 33") ==
        "c.json:25: /collectives/1/participants: expected at most 32 participants, what the level "
        "joins, got 33");
}

TEST_CASE("the same collective twice is refused") {
  CHECK(complaint("\"all_gather\", \"level\": \"net\", \"participants\": 32",
                  "\"all_reduce\", \"level\": \"node\", \"participants\": 4") ==
        "c.json:25: /collectives/1: this kind, level and participants were given before; keep one");
}

TEST_CASE("an unknown key is refused with the nearest known one") {
  CHECK(complaint("\"usd_per_hour\"", "\"usd_per_hours\"") ==
        "c.json:7: /device_types/0: unknown key \"usd_per_hours\"; did you mean \"usd_per_hour\"?");
}

TEST_CASE("a missing key is refused with its meaning") {
  CHECK(
      complaint("\"reserve_bytes\": 1610612736,", "") ==
      "c.json:6: /device_types/0: the key \"reserve_bytes\" is missing here; add it: never planned "
      "for: context, allocator, NCCL's buffers");
}

TEST_CASE("no cut and no changed character makes the reader do anything but read or refuse") {
  testing::cut_and_change_every_byte(kCluster, "c.json",
                                     [](const std::string& text) { return read(text); });
}

}  // namespace
}  // namespace penstock
