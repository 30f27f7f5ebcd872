// What was measured of copies between the memory of a GPU and that of its host.
#pragma once

#include <cstdint>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/units.h"
#include "profiler/samples.h"

namespace penstock {

enum class CopyWay : std::uint8_t {
  kToDevice,
  kToHost,
  kBothWays,  // one copy each way at once; pinned memory only, as a pageable copy blocks the thread
  kOnDevice,
};
enum class HostMemory : std::uint8_t { kPinned, kPageable };  // of kOnDevice: kPinned

struct CopySample {
  CopyWay way = CopyWay::kToDevice;
  HostMemory memory = HostMemory::kPinned;
  // While memsets, which are kernels, fill other memory of the device all the time.
  bool under_load = false;
  Bytes bytes{};       // payload of one copy, and of one direction
  SampleSummary time;  // of one copy of several in a row, by CUDA events
  bool operator==(const CopySample&) const = default;
};

// Medians, in ascending size.
std::vector<CurvePoint> curve_of(const std::vector<CopySample>& samples, CopyWay way,
                                 HostMemory memory, bool under_load);

// Of the device's memory, from the largest copy within it while it was idle: bytes read plus bytes
// written, as data sheets count them. 0 when there is no such sample.
BytesPerSecond memory_bandwidth_of(const std::vector<CopySample>& samples);

}  // namespace penstock
