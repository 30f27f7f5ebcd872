// What NVIDIA's nvbandwidth writes with -j, or prints: matrices of bandwidths between the devices
// of a node, and between them and the host. Cells are texts in GB/s (1e9) or "N/A".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"

namespace penstock {

struct BandwidthMatrix {
  std::string test;            // "device_to_device_memcpy_read_ce"
  std::string part;            // of a bidirectional test "first", "second" or "total"; else empty
  std::string row, column;     // "GPU", "CPU"
  bool row_to_column = false;  // which way data flows: "->" or "<-"
  bool both_ways = false;      // "<->"
  std::vector<std::vector<std::optional<double>>> gb_per_s;  // by row; nothing: not applicable

  // From device to device; nothing on the diagonal.
  [[nodiscard]] std::optional<double> from_to(std::size_t from, std::size_t to) const {
    return row_to_column ? gb_per_s[from][to] : gb_per_s[to][from];
  }
  [[nodiscard]] bool is_square() const {
    return !gb_per_s.empty() && gb_per_s.size() == gb_per_s.front().size();
  }
};

struct NvBandwidth {
  std::string file;
  std::string version, driver, cuda;  // as in the file; may be empty
  std::vector<std::string> devices;
  std::vector<BandwidthMatrix> matrices;
  std::vector<std::string> notes;  // tests that were not taken, and why
};

// JSON, or the tables that are printed without -j.
NvBandwidth read_nvbandwidth_output(std::string_view text, const std::string& file);

// Only tests that passed. Error{kBadInput} when none did.
NvBandwidth read_nvbandwidth(const Json& json, const std::string& file);

}  // namespace penstock
