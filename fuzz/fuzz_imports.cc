// What other tools and trainers wrote: nccl-tests, nvbandwidth, SkyPilot's catalogs, logs of
// trainers. What is accepted has times and figures that make sense, and a cluster that takes it in
// is one that is written and read again as the same value.
#include <algorithm>

#include "core/files/format.h"
#include "fuzz/fuzz.h"
#include "report/imports/cluster_changes.h"
#include "trainers/logs/trainer_log.h"

namespace penstock {
namespace {

using fuzz::require;

// Two nodes of four on a bus, each of two pairs.
const ClusterSpec& cluster() {
  static const ClusterSpec kCluster =
      read_cluster(parse_json(R"({"format": "penstock.cluster/1", "name": "mine",
        "sources": [{"id": "sheet", "origin": "datasheet", "text": "a sheet"}],
        "device_types": [{"name": "a100-80gb", "memory_bytes": 85031714816, "reserve_bytes": 1,
                          "memory_bandwidth_bytes_per_s": 2e12}],
        "node_types": [{"name": "node", "device_type": "a100-80gb", "devices": 4}],
        "nodes": [{"node_type": "node", "count": 2}],
        "levels": [{"name": "pair", "devices": 2, "latency_us": 1, "bandwidth_bytes_per_s": 1e11},
                   {"name": "node", "devices": 4, "latency_us": 1, "bandwidth_bytes_per_s": 1e11},
                   {"name": "wire", "latency_us": 9, "bandwidth_bytes_per_s": 1e10}]})",
                              "cluster.json"),
                   "cluster.json");
  return kCluster;
}

// Two ranks, two samples of 1,000 tokens.
PlanFile plan() {
  PlanFile file;
  file.plan.pipeline = 2;
  file.plan.global_batch = 2;
  file.plan.sequence_length = 1000;
  return file;
}

template <class Change>
void check_change(const Change& change) {
  const auto changes = fuzz::unless_refused(change);
  if (!changes) return;
  const ClusterSpec again = read_cluster(write_cluster(changes->cluster), "new.json");
  require(again == changes->cluster, "written and read again it is another cluster");
}

void check_nccl(const NcclTest& test) {
  require(test.ranks >= 2 && test.hosts >= 0, "a collective of one");
  require(!test.curve.empty(), "a curve without points");
  for (std::size_t i = 0; i < test.curve.size(); ++i) {
    require(test.curve[i].time > Duration{}, "a point without time");
    require(test.curve[i].bytes > (i == 0 ? Bytes{} : test.curve[i - 1].bytes), "bytes ascend");
  }
  for (const bool use_sendrecv : {false, true}) {
    check_change([&] {
      return add_collectives(cluster(), {test}, {.level = {}, .use_sendrecv = use_sendrecv});
    });
  }
}

void check_log(const LoggedRun& run) {
  require(!run.log.steps.empty() && run.interval >= 1, "a run without steps");
  for (const MeasuredStep& step : run.log.steps) {
    require(step.step_time > Duration{} && step.step_time <= kLongestDuration, "a step's time");
    require(step.step >= 0, "a step before the first");
  }
  for (const LoggedMemory& memory : run.memory) {
    require(memory.reserved >= Bytes{} && memory.rank >= -1, "negative memory");
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto test = fuzz::accepted(
          text, [](const std::string& file) { return read_nccl_test(file, fuzz::kFile); })) {
    fuzz::remember(text);
    check_nccl(*test);
  }
  if (const auto measured = fuzz::accepted(text, [](const std::string& file) {
        return read_nvbandwidth(parse_json(file, fuzz::kFile), fuzz::kFile);
      })) {
    fuzz::remember(text);
    check_change([&] { return add_link_bandwidths(cluster(), *measured, {}, "today"); });
  }
  if (const auto catalog = fuzz::accepted(
          text, [](const std::string& file) { return read_price_catalog(file, fuzz::kFile); })) {
    for (const bool spot : {false, true}) {
      check_change([&] {
        return set_prices(cluster(), *catalog,
                          {.region = {}, .spot = spot, .names = {}, .date = {}});
      });
    }
  }
  if (const auto run = fuzz::accepted(text, [](const std::string& file) {
        return run_of_log(file, fuzz::kFile, plan(),
                          {.warm_up = 0, .any_plan = file.size() % 2 == 0});
      })) {
    check_log(*run);
  }
  return 0;
}
