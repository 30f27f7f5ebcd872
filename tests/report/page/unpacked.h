// A timeline's payload as a page reads it: base64, gzip, then arrays of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

std::string decoded_base64(const std::string& text);
std::string gunzipped(const std::string& bytes);

// The arrays of `boxes` boxes and `points` points of memory; they must fill `packed` exactly.
struct UnpackedTimeline {
  std::vector<double> bytes, stash;
  std::vector<std::uint32_t> start, duration, micro_batch, waited_for, point_time;
  std::vector<std::uint16_t> row, stage;
  std::vector<std::uint8_t> kind, flags;
};
UnpackedTimeline unpacked(const std::string& packed, std::size_t boxes, std::size_t points);

}  // namespace penstock::testing
