// A cluster file of two device types, three levels and two collectives, read and refused.
#pragma once

#include <string>
#include <string_view>

#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"

namespace penstock::testing {

// Messages in tests name lines and paths of this file.
inline constexpr std::string_view kCluster =
    R"({
  "format": "penstock.cluster/1",
  "name": "small",
  "sources": [{"id": "sheet", "origin": "datasheet", "text": "the vendor's"}, {"id": "run", "origin": "measured", "text": "here"}],
  "device_types": [
    {"name": "a100", "memory_bytes": 42505273344, "reserve_bytes": 1610612736,
     "memory_bandwidth_bytes_per_s": 1555000000000, "usd_per_hour": 4.1, "source": "sheet"},
    {"name": "v100", "memory_bytes": 16000000000, "reserve_bytes": 0,
     "memory_bandwidth_bytes_per_s": 9e11}
  ],
  "node_types": [
    {"name": "p4d", "device_type": "a100", "devices": 8},
    {"name": "p3", "device_type": "v100", "devices": 4}
  ],
  "nodes": [{"node_type": "p4d", "count": 3}, {"node_type": "p3", "count": 2}],
  "levels": [
    {"name": "pair", "devices": 2, "latency_us": 2.5, "bandwidth_bytes_per_s": 600000000000},
    {"name": "node", "devices": 4, "latency_ns": 0, "bandwidth_bytes_per_s": 3e11, "source": "run"},
    {"name": "net", "shared_bandwidth_bytes_per_s": 50000000000,
     "curve": [{"bytes": 1024, "time_us": 12.5}, {"bytes": 1048576, "time_us": 60}], "source": "run"}
  ],
  "collectives": [
    {"kind": "all_reduce", "level": "node", "participants": 4,
     "curve": [{"bytes": 1, "time_ns": 1}], "source": "run"},
    {"kind": "all_gather", "level": "net", "participants": 32, "curve": [{"bytes": 7, "time_s": 1}]}
  ]
}
)";

inline ClusterSpec read(std::string_view text) {
  return read_cluster(parse_json(text, "c.json"), "c.json");
}

inline std::string complaint_of(std::string_view text) {
  return tests::refusal_of([&] { (void)read(text); });
}

inline ClusterSpec written_and_read(const ClusterSpec& cluster) {
  return read(to_text(write_cluster(cluster)));
}

}  // namespace penstock::testing
