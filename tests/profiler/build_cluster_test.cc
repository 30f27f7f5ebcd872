#include "profiler/build_cluster.h"

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

SampleSummary taking(int quarter, int median) {
  SampleSummary summary;
  summary.quarter = Duration{quarter};
  summary.median = Duration{median};
  summary.count = 7;
  return summary;
}

MachineToDescribe machine() {
  MachineToDescribe machine;
  machine.name = "here";
  machine.device = "cpu";
  machine.devices = 2;
  machine.memory_per_device = {1 << 30};
  machine.memory_bandwidth = {1e10};
  machine.level = "gloo";
  machine.provenance = "a test";
  return machine;
}

LinkSamples samples() {
  LinkSamples samples;
  samples.links = {
      {.pattern = LinkPattern::kAlone, .bytes = {4096}, .time = taking(90, 120)},
      {.pattern = LinkPattern::kAlone, .bytes = {1024}, .time = taking(40, 60)},
      {.pattern = LinkPattern::kOneWay, .bytes = {1024}, .time = taking(10, 20)},
      {.pattern = LinkPattern::kAlone,
       .under_load = true,
       .bytes = {1024},
       .time = taking(400, 600)},
  };
  samples.collectives = {
      {.participants = 2, .bytes = {1024}, .time = taking(100, 110)},
      {.participants = 2, .bytes = {2048}, .time = taking(95, 130)},
      {.kind = CollectiveKind::kAllGather,
       .participants = 2,
       .bytes = {1024},
       .time = taking(7, 8)},
  };
  return samples;
}

TEST_CASE("the level's curve is made of single transfers, in ascending size") {
  const ClusterSpec cluster =
      build_cluster(machine(), samples(), false, LinkStatistic::kQuarter).cluster;
  CHECK(device_count(cluster) == 2);
  REQUIRE(cluster.levels.size() == 1);
  CHECK(cluster.levels[0].name == "gloo");
  CHECK(cluster.levels[0].curve ==
        std::vector<CurvePoint>{{{1024}, Duration{40}}, {{4096}, Duration{90}}});
  CHECK(read_cluster(write_cluster(cluster), "c.json") == cluster);
}

TEST_CASE("medians, or links under load, when they are asked for") {
  CHECK(build_cluster(machine(), samples(), false, LinkStatistic::kMedian)
            .cluster.levels[0]
            .curve[1]
            .time == Duration{120});
  const ClusterSpec loaded =
      build_cluster(machine(), samples(), true, LinkStatistic::kMedian).cluster;
  CHECK(loaded.levels[0].curve == std::vector<CurvePoint>{{{1024}, Duration{600}}});
  CHECK(loaded.collectives.empty());
}

TEST_CASE("one disturbed message does not raise the larger ones") {
  LinkSamples disturbed = samples();
  disturbed.links.push_back(
      {.pattern = LinkPattern::kAlone, .bytes = {512}, .time = taking(1900, 2000)});
  const BuiltCluster built = build_cluster(machine(), disturbed, false, LinkStatistic::kQuarter);
  CHECK(built.cluster.levels[0].curve == std::vector<CurvePoint>{{{512}, Duration{40}},
                                                                 {{1024}, Duration{40}},
                                                                 {{4096}, Duration{90}}});
  CHECK(built.notes[0] ==
        "gloo: 512 B took 1.9 us, more than a larger message; the curve says 40 ns");
}

TEST_CASE(
    "a collective that took longer with fewer bytes takes as long as with more, says a note") {
  const BuiltCluster built = build_cluster(machine(), samples(), false, LinkStatistic::kQuarter);
  REQUIRE(built.cluster.collectives.size() == 2);
  CHECK(built.cluster.collectives[0].kind == CollectiveKind::kAllReduce);
  CHECK(built.cluster.collectives[0].curve[0].time == Duration{95});
  CHECK(built.cluster.collectives[1].kind == CollectiveKind::kAllGather);
  REQUIRE(built.notes.size() == 1);
  CHECK(built.notes[0] ==
        "all-reduce of 2: 1.0 KiB took 100 ns, more than a larger message; the curve says 95 ns");
}

TEST_CASE("a machine of one device is a cluster without links") {
  MachineToDescribe one = machine();
  one.devices = 1;
  const ClusterSpec cluster = build_cluster(one, {}, false, LinkStatistic::kQuarter).cluster;
  CHECK(cluster.levels.empty());
  CHECK(cluster.device_types[0].memory == Bytes{1 << 30});
  CHECK(read_cluster(write_cluster(cluster), "c.json") == cluster);
}

TEST_CASE("without a transfer there is no cluster") {
  CHECK_THROWS_WITH_AS(build_cluster(machine(), {}, false, LinkStatistic::kQuarter),
                       doctest::Contains("no transfer between two ranks was measured"), Error);
}

}  // namespace
}  // namespace penstock
