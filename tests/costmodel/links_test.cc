#include "costmodel/links.h"

#include <numeric>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/costmodel/clusters.h"

namespace penstock {
namespace {

ClusterSpec with_curve(std::vector<CurvePoint> curve) {
  ClusterSpec cluster = eight_per_node(1);
  LinkLevel level;
  level.name = "measured";
  level.curve = std::move(curve);
  cluster.levels = {level};
  return cluster;
}

std::vector<int> devices(int first, int count) {
  std::vector<int> list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), first);
  return list;
}

TEST_CASE("the level of a set is the innermost one whose domain holds all of it") {
  const DeviceLayout layout(eight_per_node(4));
  CHECK(level_of(layout, {3}) == 0);
  CHECK(level_of(layout, {0, 7}) == 0);
  CHECK(level_of(layout, {7, 8}) == 1);
  CHECK(level_of(layout, {1, 9, 25}) == 1);
}

TEST_CASE("without a curve a transfer takes latency plus bytes over bandwidth") {
  const ClusterSpec cluster = eight_per_node(2);
  // 3 MB / 300 GB/s = 10 us, + 10 us.
  CHECK(point_to_point_time(cluster, 0, {3'000'000}, 1) == us(20));
  // 12.5 MB / 12.5 GB/s = 1 ms, + 30 us.
  CHECK(point_to_point_time(cluster, 1, {12'500'000}, 1) == us(1030));
  // 1 B: 3.33e-3 ns, rounded up.
  CHECK(point_to_point_time(cluster, 0, {1}, 1) == us(10) + Duration{1});
}

TEST_CASE("nothing to send takes no time") {
  CHECK(point_to_point_time(eight_per_node(2), 1, {0}, 1) == Duration{});
}

TEST_CASE("flows out of one node share its network cards once they fill them") {
  const ClusterSpec cluster = eight_per_node(2);
  CHECK(point_to_point_time(cluster, 1, {12'500'000}, 4) == us(1030));  // 4 x 12.5 = 50 GB/s
  CHECK(point_to_point_time(cluster, 1, {12'500'000}, 8) == us(2030));  // 50 / 8 = 6.25 GB/s
  CHECK(point_to_point_time(cluster, 0, {3'000'000}, 8) == us(20));     // nothing shared inside
}

TEST_CASE("a measured curve is a power law between points and a floor below the first") {
  const ClusterSpec cluster = with_curve({{{1'000}, us(10)}, {{100'000}, us(40)}});
  CHECK(point_to_point_time(cluster, 0, {1}, 1) == us(10));
  CHECK(point_to_point_time(cluster, 0, {1'000}, 1) == us(10));
  CHECK(point_to_point_time(cluster, 0, {10'000}, 1) == us(20));  // sqrt(10 us * 40 us)
  CHECK(point_to_point_time(cluster, 0, {100'000}, 1) == us(40));
}

TEST_CASE("beyond its last point a curve goes on at the bandwidth of its last segment") {
  // 30 us for 99,000 B more: another 99,000 B take another 30 us.
  const ClusterSpec two = with_curve({{{1'000}, us(10)}, {{100'000}, us(40)}});
  CHECK(point_to_point_time(two, 0, {199'000}, 1) == us(70));
  // One point, or two equal times, tell no segment's bandwidth: bytes / time of the last point.
  CHECK(point_to_point_time(with_curve({{{1'000}, us(10)}}), 0, {3'000}, 1) == us(30));
  const ClusterSpec flat = with_curve({{{1'000}, us(10)}, {{2'000}, us(10)}});
  CHECK(point_to_point_time(flat, 0, {4'000}, 1) == us(20));
}

TEST_CASE("a curve measured alone is no faster than a part of the shared bandwidth") {
  ClusterSpec cluster = with_curve({{{1'000}, us(10)}, {{1'000'000}, us(100)}});
  cluster.levels[0].shared_bandwidth = {20e9};
  CHECK(point_to_point_time(cluster, 0, {1'000'000}, 1) == us(100));  // 50 us at 20 GB/s
  CHECK(point_to_point_time(cluster, 0, {1'000'000}, 4) == us(200));  // 200 us at 5 GB/s
}

TEST_CASE("a ring inside one node takes 2(g-1) messages of a g-th of the buffer") {
  const ClusterSpec cluster = eight_per_node(1);
  // 2.4 MB over 8: messages of 300 kB, 1 us + 10 us each, 14 of them; half for the halves.
  const Bytes bytes{2'400'000};
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 8), bytes, 1) == us(154));
  CHECK(collective_time(cluster, CollectiveKind::kReduceScatter, devices(0, 8), bytes, 1) ==
        us(77));
  CHECK(collective_time(cluster, CollectiveKind::kAllGather, devices(0, 8), bytes, 1) == us(77));
}

TEST_CASE("one participant has nothing to reduce, and neither has an empty buffer") {
  const ClusterSpec cluster = eight_per_node(2);
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {3}, {1'000'000}, 1) == Duration{});
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {3, 9}, {0}, 1) == Duration{});
}

TEST_CASE("over two nodes the levels work at once, each card on an eighth; the slower counts") {
  const ClusterSpec cluster = eight_per_node(2);
  // n = 240 MB, 8 + 8 devices: a ring of 30 steps, 28 inside of 10 us and 2 across of 30 us: 340
  // us. Inside: 2 * 15/16 * 240 MB at 300 GB/s: 1,500 us. Across: 8 cards, each 2 * 15/16 * 30 MB;
  // all at once get 6.25 GB/s: 9,000 us.
  const Bytes bytes{240'000'000};
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 16), bytes, 1) == us(9340));
  CHECK(collective_time(cluster, CollectiveKind::kReduceScatter, devices(0, 16), bytes, 1) ==
        us(4670));
  ClusterSpec fast = cluster;
  fast.levels[1].bandwidth = fast.levels[1].shared_bandwidth = {1e12};
  CHECK(collective_time(fast, CollectiveKind::kAllReduce, devices(0, 16), bytes, 1) == us(1840));
}

TEST_CASE("a few bytes are reduced over a tree of nodes, more over the ring") {
  const ClusterSpec cluster = eight_per_node(16);
  // Up and down: 2 * (7 * 10 + 4 * 30) us; the ring has 2 * (112 * 10 + 15 * 30).
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 128), {4}, 1) ==
        us(380) + Duration{1});
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 128), {65'537}, 1) >
        us(3140));
  CHECK(collective_time(cluster, CollectiveKind::kAllGather, devices(0, 128), {4}, 1) >= us(1570));
}

// busbw = 2 (n - 1) / n * bytes / time. Measured by nccl-tests' users on DGX A100 and H100, HGX
// H200 and B200 (Machine Learning Engineering by S. Bekman, network benchmarks); links as
// default_cluster() has them: 81 % of NVLink, 93 % of the cards. In-switch reduction (NVLS), which
// all-reduces of 256 MiB and more get on H100, is not modelled.
TEST_CASE("published bus bandwidths of all-reduces come out within 15 %") {
  struct Row {
    int nodes;
    double inside, card, mebibytes, published;  // GB/s
  };
  constexpr double kGiB = 1024;
  for (const Row& row :
       {Row{1, 300, 0, 4 * kGiB, 235}, Row{1, 450, 0, 4 * kGiB, 364}, Row{1, 450, 0, 16, 237},
        Row{1, 450, 0, 64, 362}, Row{1, 900, 0, 4 * kGiB, 678}, Row{4, 450, 50, 16 * kGiB, 365},
        Row{4, 900, 50, 1, 5.4}, Row{4, 900, 50, 16, 64}, Row{4, 900, 50, 64, 157},
        Row{4, 900, 50, kGiB, 362}, Row{4, 900, 50, 16 * kGiB, 382}}) {
    ClusterSpec cluster = eight_per_node(row.nodes);
    cluster.levels[0].latency = us(3.4);
    cluster.levels[0].bandwidth = {0.81e9 * row.inside};
    cluster.levels[1].bandwidth = {0.93e9 * row.card};
    cluster.levels[1].shared_bandwidth = {};
    const int n = 8 * row.nodes;
    const Bytes bytes{static_cast<std::int64_t>(row.mebibytes * 1048576)};
    const Duration time =
        collective_time(cluster, CollectiveKind::kAllReduce, devices(0, n), bytes, 1);
    const double busbw =
        2.0 * (n - 1) / n * static_cast<double>(bytes.count) / static_cast<double>(time.count());
    CAPTURE(row.published);
    CAPTURE(busbw);
    CHECK(busbw / row.published > 0.85);
    CHECK(busbw / row.published < 1.155);
  }
}

TEST_CASE("equal collectives on the other devices of a node share its network cards") {
  const ClusterSpec cluster = eight_per_node(2);
  // {0, 8}: 2 messages of 12.5 MB at 12.5 GB/s alone, at 6.25 GB/s as one of eight.
  const Bytes bytes{25'000'000};
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {0, 8}, bytes, 1) == us(2060));
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {0, 8}, bytes, 8) == us(4060));
  // A node of eight has no more than eight senders.
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {0, 8}, bytes, 20) == us(4060));
}

TEST_CASE("uneven groups take the longest ring inside and the largest share across") {
  const ClusterSpec cluster = eight_per_node(2);
  // 8 + 4 devices, n = 240 MB. The node with four has four cards, each 2 * 11/12 * 60 MB at
  // 12.5 GB/s: 8,800 us. Steps as of two nodes of eight: 340 us.
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 12), {240'000'000}, 1) ==
        us(9'140));
}

TEST_CASE("the shape of a group counts domains and members per level") {
  const GroupShape group = group_shape(DeviceLayout(eight_per_node(3)), {0, 1, 2, 8, 9, 16});
  CHECK(group.participants == 6);
  REQUIRE(group.levels.size() == 2);
  CHECK(group.levels[0] == GroupLevel{.most = 3, .least = 1, .members = 1, .beside = 1});
  CHECK(group.levels[1] == GroupLevel{.most = 3, .least = 3, .members = 3, .beside = 8});
}

TEST_CASE("a measured collective of the same kind, level and size is preferred") {
  ClusterSpec cluster = eight_per_node(2);
  cluster.collectives = {{CollectiveKind::kAllReduce, 0, 8, {{{1'000'000}, us(40)}}, 0}};
  const Bytes bytes{1'000'000};
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 8), bytes, 1) == us(40));
  // Another kind, another size: the ring. 125 kB: 5/12 us + 10 us, 7 times.
  CHECK(collective_time(cluster, CollectiveKind::kAllGather, devices(0, 8), bytes, 1) ==
        Duration{72'917});
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, devices(0, 4), bytes, 1) != us(40));
}

TEST_CASE("a measured collective among others is no faster than its part of the network cards") {
  ClusterSpec cluster = eight_per_node(2);
  cluster.collectives = {{CollectiveKind::kAllReduce, 1, 2, {{{25'000'000}, us(2500)}}, 0}};
  const Bytes bytes{25'000'000};
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {0, 8}, bytes, 1) == us(2500));
  // 2 messages of 12.5 MB at 6.25 GB/s.
  CHECK(collective_time(cluster, CollectiveKind::kAllReduce, {0, 8}, bytes, 8) == us(4000));
}

TEST_CASE("a level that the cluster does not have is refused") {
  CHECK_THROWS_AS(point_to_point_time(eight_per_node(1), 2, {1}, 1), Error);
}

// One node of 8 as in clusters.h, and two of 4 devices of another type behind PCIe and a slower
// network card: 20 us and 10 GB/s inside; 40 us and 5 GB/s between nodes, shared by the node.
ClusterSpec with_slow_nodes() {
  ClusterSpec cluster = eight_per_node(1);
  DeviceType slow = cluster.device_types[0];
  slow.name = "slow";
  cluster.device_types.push_back(slow);
  cluster.node_types.push_back({"slow", 1, 4});
  cluster.nodes.push_back({1, 2});
  cluster.levels[0].of_types = {{1, {}, us(20), {10e9}, {}, 0}};
  cluster.levels[1].of_types = {{1, {}, us(40), {5e9}, {5e9}, 0}};
  return cluster;
}

TEST_CASE("a transfer between device types goes at the pace of the slower one") {
  const ClusterSpec cluster = with_slow_nodes();
  const Bytes bytes{10'000'000};
  const auto time = [&](Way way) { return point_to_point_time(cluster, way, bytes); };
  CHECK(time({0, 1, 1, 1, 1}) == us(1020));  // 20 us + 10 MB / 10 GB/s
  CHECK(time({1, 0, 0, 1, 1}) == us(830));   // 30 us + 10 MB / 12.5 GB/s
  CHECK(time({1, 0, 1, 1, 1}) == us(2040));  // 40 us + 10 MB / 5 GB/s
  CHECK(time({1, 1, 0, 1, 1}) == us(2040));
  // 8 leave the fast node at 6.25 GB/s each (1,630 us), 4 come into the slow one at 1.25 GB/s.
  CHECK(time({1, 0, 1, 8, 4}) == us(8040));
  CHECK(time({1, 0, 0, 8, 8}) == us(1630));
  CHECK(latency_of(cluster, {1, 0, 1}) == us(40));
}

TEST_CASE("a collective goes at the pace of its slowest member on every level") {
  const ClusterSpec cluster = with_slow_nodes();
  const auto all_reduce = [&](const std::vector<int>& group, std::int64_t bytes) {
    return collective_time(cluster, CollectiveKind::kAllReduce, group, {bytes}, 1);
  };
  // Within a slow node: 6 steps of 20 us, 2 * 3/4 * 100 MB at 10 GB/s.
  CHECK(all_reduce(devices(8, 4), 100'000'000) == us(120 + 15'000));
  // Within the fast one nothing has changed: 14 steps of 10 us, 2 * 7/8 * 240 MB at 300 GB/s.
  CHECK(all_reduce(devices(0, 8), 240'000'000) == us(140 + 1400));
  // All: 4 steps of 40 us between nodes and 42 of 20 us inside; 4 lanes of 2 * 15/16 * 40 MB, which
  // share 5 GB/s in a slow node: 60,000 us, more than 300 MB at 10 GB/s inside.
  CHECK(all_reduce(devices(0, 16), 160'000'000) == us(160 + 840 + 60'000));
  // One device of either slow node, no PCIe between two of one node: 2 steps of 40 us, 100 MB.
  CHECK(all_reduce({8, 12}, 100'000'000) == us(80 + 20'000));
  // A slow device alone in its node sends nothing inside; its fast partners do, in one lane.
  CHECK(all_reduce({0, 1, 8}, 90'000'000) == us(2 * 40 + 4 * 10 + 24'000));
}

TEST_CASE("a measured collective is that of its device type") {
  ClusterSpec cluster = with_slow_nodes();
  CollectiveCurve curve{CollectiveKind::kAllReduce, 0, 4, {{{1'000'000}, us(7)}}, 0};
  cluster.collectives = {curve};
  const auto time = [&](int first) {
    return collective_time(cluster, CollectiveKind::kAllReduce, devices(first, 4), {1'000'000}, 1);
  };
  CHECK(time(0) == us(7));
  CHECK(time(8) == us(120 + 150));  // it has links of its own, of which the curve says nothing
  curve.device_type = 1;
  curve.curve[0].time = us(9);
  cluster.collectives.push_back(curve);
  CHECK(time(0) == us(7));
  CHECK(time(8) == us(9));
}

TEST_CASE("to say of a type what its level says changes nothing") {
  ClusterSpec plain = with_slow_nodes();
  for (LinkLevel& level : plain.levels) level.of_types.clear();
  ClusterSpec said = plain;
  for (LinkLevel& level : said.levels) {
    level.of_types = {{1, level.curve, level.latency, level.bandwidth, level.shared_bandwidth, 0}};
  }
  for (const std::vector<int>& group :
       {devices(0, 16), devices(6, 5), devices(8, 4), std::vector<int>{0, 1, 9, 12, 13}}) {
    for (const std::int64_t bytes : {100, 60'000, 1'000'000, 100'000'000}) {
      for (const int rings : {1, 3}) {
        CHECK(collective_time(said, CollectiveKind::kAllReduce, group, {bytes}, rings) ==
              collective_time(plain, CollectiveKind::kAllReduce, group, {bytes}, rings));
      }
    }
  }
  CHECK(point_to_point_time(said, {1, 0, 1, 8, 4}, {1'000'000}) ==
        point_to_point_time(plain, 1, {1'000'000}, 8));
}

}  // namespace
}  // namespace penstock
