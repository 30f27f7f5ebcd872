#include "report/imports/nccl_tests.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "report/imports/cluster_changes.h"
#include "report/imports/import_report.h"
#include "report/screen.h"
#include "tests/report/imports/complaint.h"

namespace penstock {
namespace {

// `processes` of one GPU each, spread over `hosts`.
std::string file_of(const std::string& program, int processes, int hosts,
                    const std::string& results) {
  std::string devices;
  for (int i = 0; i < processes; ++i) {
    devices += (i == 0 ? "" : ", ") + std::string("{\"rank\": ") + std::to_string(i) +
               ", \"group\": 0, \"hostname\": \"node" + std::to_string(i * hosts / processes) +
               "\"}";
  }
  return R"({"version": 3, "start_time": "2026-08-03", "args": ["./build/)" + program +
         R"(", "-b", "8"],
  "env": ["TOKEN=open-sesame", "X=]}\"], \"results\": []"],
  "nccl_version": "2.27.7", "config": {"nthreads": 1, "ngpus": 1, "devices": [)" +
         devices + "]}, \"results\": [" + results + "]}\n";
}

std::string result(int size, const std::string& outside, const std::string& inside = "null",
                   const std::string& more = "") {
  return "{\"size\": " + std::to_string(size) +
         R"(, "type": "float", "redop": "sum", "root": " -1", "out_of_place": )" + outside +
         ", \"in_place\": " + inside + more + "}";
}

std::string time_of(const std::string& us, const std::string& wrong = "0") {
  return "{\"time\": " + us + ", \"nwrong\": " + wrong + "}";
}

NcclTest read(const std::string& results, int processes = 8, int hosts = 1) {
  return read_nccl_test(file_of("all_reduce_perf", processes, hosts, results), "a.json");
}

// Two nodes of eight, joined by "wire".
ClusterSpec cluster() {
  constexpr std::string_view kText = R"({"format": "penstock.cluster/1", "name": "two nodes",
    "sources": [{"id": "sheet", "origin": "datasheet", "text": "a sheet"}],
    "device_types": [{"name": "toy", "memory_bytes": 1000, "reserve_bytes": 1,
                      "memory_bandwidth_bytes_per_s": 1}],
    "node_types": [{"name": "node", "device_type": "toy", "devices": 8}],
    "nodes": [{"node_type": "node", "count": 2}],
    "levels": [{"name": "switch", "devices": 8, "latency_us": 1, "bandwidth_bytes_per_s": 1e9},
               {"name": "wire", "latency_us": 1, "bandwidth_bytes_per_s": 1e9}]})";
  return read_cluster(parse_json(kText, "c.json"), "c.json");
}

// Of 4 ranks: busbw is 1.5 times algbw.
std::string printed(const std::string& rows, const std::string& before = "",
                    const std::string& command = "./build/all_reduce_perf -b 8") {
  std::string ranks;
  for (int r = 0; r < 4; ++r) {
    ranks += before + "#  Rank  " + std::to_string(r) + " Group  0 Pid 1887 on   worker-" +
             std::to_string(r / 2) + " device  " + std::to_string(r % 2) + " [0x8d] NVIDIA H100\n";
  }
  return "$ TOKEN=open-sesame " + command + "\n" + ranks + before +
         "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
         "time   algbw   busbw #wrong\n" +
         before + "#        (B)    (elements)                   (us)  (GB/s)  (GB/s)\n" + rows;
}

TEST_CASE("the printed table says what the JSON says") {
  const std::string small =
      " 8192  2048  float  sum  -1  25.60  0.32  0.48  0  25.10  0.33  0.49  0\n";
  const std::string large =
      " 8388608  2097152  float  sum  -1  419.4  20.00  30.00  0  421.0  19.93  29.89  0\n";
  for (const std::string before : {"", "[1,0]<stdout>:"}) {
    const NcclTest test = read_nccl_test(printed(before + small + before + large, before), "a.txt");
    CHECK(test.collective == "all_reduce");
    CHECK(test.ranks == 4);
    CHECK(test.hosts == 2);
    const std::vector<CurvePoint> curve{{Bytes{8192}, Duration{25'600}},
                                        {Bytes{8'388'608}, Duration{419'400}}};
    CHECK(test.curve == curve);
    CHECK(test.notes.empty());
  }
  // Rows that came out wrong, and columns of older versions, which have no root.
  const std::string wrong =
      " 16384  4096  float  sum  -1  30.0  0.55  0.82  7  30.0  0.55  0.82  7\n";
  CHECK(read_nccl_test(printed(small + wrong), "a.txt").curve.size() == 1);
  std::string old =
      printed("  8192  2048  float  sum  25.60  0.32  0.48  5e-07  25.10  0.33  0.49  5e-07\n");
  old.replace(old.find("redop    root"), 13, "redop        ");
  while (old.find("#wrong") != std::string::npos) old.replace(old.find("#wrong"), 6, "error ");
  CHECK(read_nccl_test(old, "a.txt").curve.size() == 1);
}

TEST_CASE("a table without its ranks or its program is refused with what to keep") {
  const std::string row =
      " 8388608  2097152  float  sum  -1  419.4  20.00  30.00  0  421.0  19.93  29.89  0\n";
  const auto refused = [](std::string text, const std::string& file = "a.txt") {
    return complaint([&] { return read_nccl_test(text, file); });
  };
  CHECK(has(refused("none\n"), "no table of nccl-tests"));
  CHECK(has(refused(printed("")), "no table of nccl-tests"));
  const std::string whole = printed(row);
  std::string unlisted = whole;
  while (unlisted.find("#  Rank") != std::string::npos) {
    const std::size_t at = unlisted.find("#  Rank");
    unlisted.erase(at, unlisted.find('\n', at) - at + 1);
  }
  CHECK(has(refused(unlisted), "keep the lines \"#  Rank"));
  // Gathers and exchanges have the same columns and ratio.
  const std::string gathered =
      " 8388608  2097152  float  none  -1  419.4  20.00  15.00  0  421.0  19.93  14.95  0\n";
  CHECK(has(refused(printed(gathered, "", "x")), "which collective"));
  CHECK(refused(printed(gathered, "", "x"), "h100_all_gather.txt").empty());
  CHECK(has(refused(whole + "./build/all_gather_perf\n"), "split it"));
  // Without MPI every process is rank 0.
  CHECK(
      has(refused(whole + "#  Rank  0 Group 0 Pid 1 on b device 0 [0x8d] H100\n"), "without MPI"));
  // 1.5 is no ratio of a broadcast, nor of an all-reduce of 3 ranks.
  CHECK(has(refused(printed(row, "", "broadcast_perf")), "busbw is 1.50 times algbw"));
  CHECK(refused(whole).empty());
}

// Of 4 ranks busbw is 1.5 times algbw in an all-reduce, and 0.75 times in a reduce-scatter; a
// reduce has a root.
TEST_CASE("what reduces to no root is known by the ratio of its bandwidths") {
  const auto collective_of = [](const std::string& row) {
    return read_nccl_test(printed(row, "", "x"), "a.txt").collective;
  };
  CHECK(collective_of(" 8388608  2097152  float  sum  -1  419.4  20.00  30.00  0\n") ==
        "all_reduce");
  CHECK(collective_of(" 8388608  2097152  float  max  -1  419.4  20.00  15.00  0\n") ==
        "reduce_scatter");
  CHECK(has(complaint([&] {
              return collective_of(" 8388608  2097152  float  sum  0  419.4  20.00  20.00  0\n");
            }),
            "which collective"));
}

TEST_CASE("a table names the GPUs of its ranks, each once") {
  std::string text =
      printed(" 8192  2048  float  sum  -1  25.60  0.32  0.48  0  25.10  0.33  0.49  0\n");
  CHECK(read_nccl_test(text, "a.txt").gpus == std::vector<std::string>{"NVIDIA H100"});
  text.replace(text.find("H100"), 4, "A100-SXM4-80GB");
  CHECK(read_nccl_test(text, "a.txt").gpus ==
        std::vector<std::string>{"NVIDIA A100-SXM4-80GB", "NVIDIA H100"});
}

TEST_CASE("microseconds are read exactly, from numbers and from texts") {
  const NcclTest test =
      read(result(1024, time_of("10.5")) + "," + result(2048, time_of("\"20.25\"")));
  CHECK(test.collective == "all_reduce");
  CHECK(test.ranks == 8);
  CHECK(test.hosts == 1);
  CHECK(test.nccl_version == "2.27.7");
  CHECK(test.curve ==
        std::vector<CurvePoint>{{Bytes{1024}, Duration{10'500}}, {Bytes{2048}, Duration{20'250}}});
  CHECK(test.notes.empty());
}

TEST_CASE("ranks are processes times threads times GPUs per thread") {
  std::string text = file_of("reduce_scatter_perf_mpi", 4, 2, result(8, time_of("1")));
  text.replace(text.find("\"nthreads\": 1"), 13, "\"nthreads\": \"2\"");
  text.replace(text.find("\"ngpus\": 1"), 10, "\"ngpus\": 4");
  const NcclTest test = read_nccl_test(text, "a.json");
  CHECK(test.ranks == 32);
  CHECK(test.hosts == 2);
  CHECK(test.collective == "reduce_scatter");
}

TEST_CASE("what is wrong, no number or of another series does not count, and is said") {
  const NcclTest test = read(
      result(8, time_of("1.0", "3")) + "," + result(16, time_of("\"nan\"")) + "," +
      result(32, "null", time_of("4.0")) + "," + result(64, "{\"cpu_time\": 5.0}") + "," +
      result(128, time_of("6.0", "null"), time_of("6.0", "2")) + "," + result(0, time_of("0.5")) +
      R"(,{"size": 256, "type": "half", "redop": "sum", "root": -1, "out_of_place": {"time": 9}})");
  CHECK(test.curve ==
        std::vector<CurvePoint>{{Bytes{32}, Duration{4000}}, {Bytes{64}, Duration{5000}}});
  CHECK(test.notes ==
        std::vector<std::string>{
            "2 results: left out, since values came out wrong",
            "2 results: left out, without a time or without bytes",
            "1 result: in place, since there is no time out of place",
            "1 result: a time of the host, not of the device (-C)",
            "1 result: left out, of another type, operation or root than the first, float sum -1"});
}

// 3, 9 and 4 us of one size: 4.
TEST_CASE("a size that was measured again counts with the median, and -I where there is no mean") {
  const NcclTest test = read(result(8, time_of("3")) + "," + result(8, time_of("9")) + "," +
                             result(8, time_of("4")) + "," +
                             result(16, "null", "null",
                                    R"(, "out_of_place_per_iter": {"min_us": 5, "p50_us": 7.5,
                                        "p99_us": 9, "times_us": [5, 7.5, 9]})"));
  CHECK(test.curve ==
        std::vector<CurvePoint>{{Bytes{8}, Duration{4000}}, {Bytes{16}, Duration{7500}}});
}

TEST_CASE("nothing of the environment is ever read") {
  const std::string text = file_of("all_reduce_perf", 2, 1, result(8, time_of("1")));
  const std::string kept = without_environment(text, "a.json");
  CHECK(!has(kept, "open-sesame"));
  CHECK(has(kept, "\"env\": null"));
  CHECK(has(kept, "nccl_version"));
  const NcclTest test = read_nccl_test(text, "a.json");
  CHECK(!has(nccl_report(test, Screen{}), "open-sesame"));
  CHECK(!has(to_text(to_json(test)), "open-sesame"));
  const ClusterChanges changes = add_collectives(cluster(), {test}, {});
  CHECK(!has(to_text(write_cluster(changes.cluster)), "open-sesame"));
  // Also not in what is said of a file that is cut off, wherever that is.
  for (std::size_t end = 0; end < text.size(); ++end) {
    CHECK(!has(complaint([&] { return read_nccl_test(text.substr(0, end), "a.json"); }), "sesame"));
  }
}

TEST_CASE("an environment that is no whole list is refused unseen") {
  // A quote in it that is not escaped, and one that swallows the rest of the file.
  for (const char* list :
       {R"(["A="open-sesame", "B=1"])", R"(["A=open-sesame)", R"({"A": "open-sesame"})"}) {
    std::string text = file_of("all_reduce_perf", 2, 1, result(8, time_of("1")));
    const std::size_t begin = text.find('[', text.find("\"env\""));
    text.replace(begin, text.find("\n  \"nccl_version\"") - 1 - begin, list);
    const std::string said = complaint([&] { return read_nccl_test(text, "a.json"); });
    CHECK(has(said, "a.json:2: /env: expected a whole list of texts"));
    CHECK(!has(said, "sesame"));
  }
}

// 1,000,000 B in 1,000 us are 1 GB/s.
TEST_CASE("a bandwidth that is not size over time is told") {
  const auto with_speed = [](const std::string& speed) {
    return read(result(1'000'000, "{\"time\": 1000, \"alg_bw\": " + speed + "}")).notes;
  };
  CHECK(with_speed("1.00").empty());
  CHECK(with_speed("\"1.04\"").empty());
  REQUIRE(with_speed("1000").size() == 1);
  CHECK(has(with_speed("1000")[0], "alg_bw in GB/s is not size over time"));
}

TEST_CASE("files that are none, and values that are none, are refused with their place") {
  const auto of = [](const std::string& text) {
    return complaint([&] { return read_nccl_test(text, "a.json"); });
  };
  CHECK(has(of("{}"), "a.json: expected what nccl-tests write with -J"));
  CHECK(has(of(file_of("nccl", 2, 1, result(8, time_of("1")))), "/args/0: expected the program"));
  CHECK(has(of(file_of("all_reduce_perf", 1, 1, result(8, time_of("1")))), "expected 2 ranks"));
  CHECK(has(of(file_of("all_reduce_perf", 2, 1, result(-8, time_of("1")))),
            "/results/0/size: expected a number of bytes"));
  CHECK(has(of(file_of("all_reduce_perf", 2, 1, result(8, time_of("\"fast\"")))),
            "/results/0/out_of_place/time: expected a time"));
  CHECK(has(of(file_of("all_reduce_perf", 2, 1, result(8, time_of("-1")))), "got -1"));
  CHECK(has(of(file_of("all_reduce_perf", 2, 1, result(8, time_of("1", "1")))),
            "none of 1 result can be used; 1 result: left out, since values came out wrong"));
  std::string groups = file_of("all_reduce_perf", 2, 1, result(8, time_of("1")));
  groups.replace(groups.find("\"group\": 0"), 10, "\"group\": 1");
  CHECK(has(of(groups), "2 groups ran at once"));
}

TEST_CASE("curves go to the innermost level that joins the ranks on their hosts") {
  const std::string results = result(8, time_of("3")) + "," + result(16, time_of("2"));
  const ClusterChanges inside = add_collectives(cluster(), {read(results, 8, 1)}, {});
  REQUIRE(inside.cluster.collectives.size() == 1);
  const CollectiveCurve& curve = inside.cluster.collectives[0];
  CHECK(curve.level == 0);
  CHECK(curve.participants == 8);
  CHECK(curve.kind == CollectiveKind::kAllReduce);
  // Times do not fall with the size in a cluster file.
  CHECK(curve.curve[1].time == Duration{3000});
  CHECK(has(inside.notes[0], "a.json: 16 B took 2 us, less than 8 B"));
  const Source& source = inside.cluster.sources[static_cast<std::size_t>(curve.source)];
  CHECK(source.origin == Origin::kMeasured);
  CHECK(source.text ==
        "nccl-tests all_reduce_perf, 8 ranks on 1 host, NCCL 2.27.7, 2026-08-03; a.json");
  // The result is a cluster file.
  const ClusterSpec again = read_cluster(write_cluster(inside.cluster), "new.json");
  CHECK(again == inside.cluster);

  // Two ranks on two hosts are neighbours in number, but not on the switch.
  CHECK(add_collectives(cluster(), {read(results, 2, 2)}, {}).cluster.collectives[0].level == 1);
  CHECK(add_collectives(cluster(), {read(results, 2, 1)}, {.level = "wire", .use_sendrecv = false})
            .cluster.collectives[0]
            .level == 1);
  // Again into what it made: in the same place.
  const ClusterChanges twice = add_collectives(inside.cluster, {read(results, 8, 1)}, {});
  CHECK(twice.cluster == inside.cluster);
  CHECK(has(twice.changes[0], "replacing those before"));
}

TEST_CASE("what has no place, or two candidates for one, is said") {
  const std::string results = result(8, time_of("3"));
  const NcclTest test = read(results, 8, 1);
  CHECK(has(complaint([&] {
              return add_collectives(cluster(), {test, test}, {});
            }),
            "is in another of these files"));
  CHECK(has(complaint([&] { return add_collectives(cluster(), {read(results, 64, 8)}, {}); }),
            "64 ranks, but the cluster 'two nodes' has 16 devices"));
  CHECK(has(complaint([&] { return add_collectives(cluster(), {read(results, 16, 1)}, {}); }),
            "say it with --level; there is switch, wire"));
  CHECK(has(complaint([&] {
              return add_collectives(cluster(), {test}, {"bus", false});
            }),
            "no level 'bus'"));

  const NcclTest ring = read_nccl_test(file_of("sendrecv_perf", 2, 2, results), "s.json");
  CHECK(has(ring.notes.back(), "sends and receives at once"));
  const ClusterChanges not_stored = add_collectives(cluster(), {ring}, {});
  CHECK(not_stored.changes.empty());
  CHECK(not_stored.cluster == cluster());
  const ClusterChanges stored = add_collectives(cluster(), {ring}, {std::nullopt, true});
  CHECK(stored.cluster.levels[1].curve == ring.curve);
  CHECK(read_cluster(write_cluster(stored.cluster), "new.json") == stored.cluster);
}

// n = 8: 2 * 7 / 8, 7 / 8, 1.
TEST_CASE("bus bandwidths are those of nccl-tests") {
  CHECK(bus_factor("all_reduce", 8) == 1.75);
  CHECK(bus_factor("all_gather", 8) == 0.875);
  CHECK(bus_factor("reduce_scatter", 8) == 0.875);
  CHECK(bus_factor("sendrecv", 8) == 1.0);
  // 1,000 B in 1 us are 1 GB/s, 1.75 on the bus.
  CHECK(has(nccl_report(read(result(1000, time_of("1"))), Screen{}),
            "1.000 us           1.000     1.750"));
}

}  // namespace
}  // namespace penstock
