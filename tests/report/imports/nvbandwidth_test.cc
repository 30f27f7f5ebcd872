#include "report/imports/nvbandwidth.h"

#include <string>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/error.h"
#include "report/imports/cluster_changes.h"
#include "tests/report/imports/complaint.h"

namespace penstock {
namespace {

std::string test_case(const std::string& name, const std::string& description,
                      const std::string& matrix, const std::string& status = "Passed") {
  return "{\"name\": \"" + name + "\", \"status\": \"" + status +
         "\", \"bandwidth_description\": \"" + description + "\", \"bandwidth_matrix\": " + matrix +
         "}";
}

constexpr const char* kWrite = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)";
constexpr const char* kRead = "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)";
constexpr const char* kThree =
    R"([["N/A", "10", "20"], ["30", "N/A", "40"], ["50", "60.5", "N/A"]])";

NvBandwidth read(const std::string& cases) {
  const std::string text = R"({"nvbandwidth": {"CUDA Runtime Version": 12080, "version": "v0.8",
    "Driver Version": "570", "GPU Device list": ["0: toy", "1: toy"], "testcases": [)" +
                           cases + "]}}";
  return read_nvbandwidth(parse_json(text, "nv.json"), "nv.json");
}

// Nodes of four, joined by pairs inside; two nodes.
ClusterSpec cluster() {
  constexpr std::string_view kText = R"({"format": "penstock.cluster/1", "name": "pairs",
    "sources": [{"id": "sheet", "origin": "datasheet", "text": "a sheet"}],
    "device_types": [{"name": "toy", "memory_bytes": 1000, "reserve_bytes": 1,
                      "memory_bandwidth_bytes_per_s": 1}],
    "node_types": [{"name": "node", "device_type": "toy", "devices": 4}],
    "nodes": [{"node_type": "node", "count": 2}],
    "levels": [{"name": "bridge", "devices": 2, "latency_us": 1, "bandwidth_bytes_per_s": 1e9},
               {"name": "bus", "devices": 4, "latency_us": 2, "bandwidth_bytes_per_s": 1e9},
               {"name": "wire", "latency_us": 3, "bandwidth_bytes_per_s": 1e9}]})";
  return read_cluster(parse_json(kText, "c.json"), "c.json");
}

TEST_CASE("the arrow says which way data flows") {
  const NvBandwidth write = read(test_case("device_to_device_memcpy_write_ce", kWrite, kThree));
  REQUIRE(write.matrices.size() == 1);
  CHECK(write.matrices[0].from_to(0, 1) == 10.0);
  CHECK(write.matrices[0].from_to(2, 1) == 60.5);
  CHECK(!write.matrices[0].from_to(1, 1));
  CHECK(write.cuda == "12080");
  const NvBandwidth back = read(test_case("device_to_device_memcpy_read_ce", kRead, kThree));
  CHECK(back.matrices[0].from_to(1, 0) == 10.0);
}

TEST_CASE("the printed tables say what the JSON says") {
  const std::string head = "Running device_to_device_memcpy_read_ce.\n";
  const std::string table =
      "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n"
      " 0      0.00    276.07\n 1    276.19       N/A\n\n";
  const std::string sum = "SUM device_to_device_memcpy_read_ce 552.26\n";
  for (const std::string& text : {head + table + sum, table + sum, "> " + head + table}) {
    const NvBandwidth read = read_nvbandwidth_output(text, "nv.txt");
    REQUIRE(read.matrices.size() == 1);
    CHECK(read.matrices[0].test == "device_to_device_memcpy_read_ce");
    CHECK(read.matrices[0].from_to(1, 0) == 276.07);  // row 0 reads from column 1
    CHECK(read.matrices[0].from_to(0, 1) == 276.19);
    CHECK(!read.matrices[0].from_to(0, 0));
  }
  CHECK_THROWS_AS(read_nvbandwidth_output("nothing\n", "nv.txt"), Error);
}

TEST_CASE("only what passed, in GB/s, counts; the rest is named") {
  const NvBandwidth measured =
      read(test_case("host_to_device_memcpy_ce",
                     "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)", R"([["25.5", 24]])") +
           "," + test_case("a", kWrite, kThree, "Waived") + "," +
           test_case("b", "latency GPU(row) <-> GPU(column) (ns)", kThree) +
           R"(, {"name": "c", "status": "Passed"})");
  REQUIRE(measured.matrices.size() == 1);
  CHECK(measured.matrices[0].row == "CPU");
  CHECK(measured.matrices[0].gb_per_s[0][1] == 24.0);
  REQUIRE(measured.notes.size() == 3);
  CHECK(measured.notes[0] == "a: not taken, its status is Waived");
  CHECK(has(measured.notes[1], "b: not taken, its unit is not GB/s"));
}

TEST_CASE("a bidirectional test is two directions and their sum") {
  const NvBandwidth measured = read(test_case(
      "device_to_device_bidirectional_memcpy_read_ce",
      "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)",
      R"([["N/A", "1"], ["2", "N/A"], ["N/A", "3"], ["4", "N/A"], ["N/A", "4"], ["6", "N/A"]])"));
  REQUIRE(measured.matrices.size() == 3);
  CHECK(measured.matrices[1].part == "second");
  CHECK(measured.matrices[2].part == "total");
  CHECK(measured.matrices[2].gb_per_s[1][0] == 6.0);
  CHECK(has(complaint([&] { return add_link_bandwidths(cluster(), measured, {}, ""); }),
            "no test one way between devices passed"));
}

// Pairs (0, 1) and (2, 3) are on the bridge: 10, 20, 30, 40, median (the lower) 20. The others are
// on the bus: eight times 5.
TEST_CASE("every level inside a node gets the median of its own pairs") {
  const NvBandwidth measured = read(test_case(
      "device_to_device_memcpy_write_ce", kWrite,
      R"([["N/A", "10", "5", "5"], ["20", "N/A", "5", "5"], ["5", "5", "N/A", "30"], ["5", "5", "40", "N/A"]])"));
  const ClusterChanges changes = add_link_bandwidths(cluster(), measured, {}, "2026-11-22");
  CHECK(changes.cluster.levels[0].bandwidth.value == 20e9);
  CHECK(changes.cluster.levels[0].latency == Duration{1000});
  CHECK(changes.cluster.levels[1].bandwidth.value == 5e9);
  CHECK(changes.cluster.levels[2] == cluster().levels[2]);
  const auto source = static_cast<std::size_t>(changes.cluster.levels[0].source);
  CHECK(changes.cluster.sources[source].text ==
        "bandwidth measured: nvbandwidth v0.8 device_to_device_memcpy_write_ce, driver 570, "
        "2026-11-22; nv.json; the rest: a sheet");
  CHECK(read_cluster(write_cluster(changes.cluster), "new.json") == changes.cluster);
  // Once more: the remark is replaced, not repeated.
  const ClusterChanges twice = add_link_bandwidths(changes.cluster, measured, {}, "2026-11-22");
  CHECK(twice.cluster == changes.cluster);
}

TEST_CASE("a measured curve stays, and nodes must have room for the devices") {
  const NvBandwidth measured = read(test_case("device_to_device_memcpy_write_ce", kWrite, kThree));
  ClusterSpec curved = cluster();
  for (LinkLevel& level : curved.levels) level.curve = {{Bytes{8}, Duration{10}}};
  const ClusterChanges changes = add_link_bandwidths(curved, measured, {}, "");
  CHECK(changes.changes.empty());
  CHECK(has(changes.notes[0], "level 'bridge' has a measured curve"));
  ClusterSpec small = cluster();
  small.node_types[0].devices = 2;
  CHECK(has(complaint([&] { return add_link_bandwidths(small, measured, {}, ""); }),
            "between 3 devices, but nodes of the cluster 'pairs' have 2"));
  CHECK(has(complaint([&] { return add_link_bandwidths(cluster(), measured, "other", ""); }),
            "there is device_to_device_memcpy_write_ce"));
}

TEST_CASE("files that are none, and cells that are none, are refused with their place") {
  CHECK(has(complaint([] { return read_nvbandwidth(parse_json("[]", "nv.json"), "nv.json"); }),
            "expected what nvbandwidth prints with -j"));
  CHECK(has(complaint([] { return read(""); }), "no test that passed"));
  const auto of = [](const std::string& matrix) {
    return complaint([&] { return read(test_case("t", kWrite, matrix)); });
  };
  CHECK(has(of(R"([["fast"]])"), "/testcases/0/bandwidth_matrix/0/0: expected a finite number"));
  CHECK(has(of(R"([["-1"]])"), "expected a bandwidth > 0"));
  CHECK(has(of(R"([["0.00"]])"), "got \"0.00\""));
  CHECK(has(of(R"([["1", "2"], ["3"]])"), "expected 2 cells, as in the first row, got 1"));
  CHECK(has(of("[[]]"), "expected 0 cells"));
  CHECK(has(of("[]"), "at least one row"));
  CHECK(has(of("7"), "expected an array"));
}

}  // namespace
}  // namespace penstock
