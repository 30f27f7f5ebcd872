// How fast one GPU and its host copy: each way and both at once, from pinned and from pageable
// memory, within the device, and all of it again while kernels use the device's memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"
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
  SampleSummary time;  // of one copy, by CUDA events
  bool operator==(const CopySample&) const = default;
};

struct CopyPlan {
  Bytes smallest{std::int64_t{1} << 10}, largest{std::int64_t{1} << 30};  // sizes in between double
  int warm_up = 3, repeats = 7;
  Duration per_sample = std::chrono::milliseconds(10);  // as many copies as take that long
};

// Uses a little more than three times `largest` of the device's memory and as much of the host's;
// buffers rotate, so that caches stay cold. A size under load is left out when the load cannot be
// made to last as long as its copies. Error{kMissingResource} when there is no such GPU.
std::vector<CopySample> measure_copies(int device, const CopyPlan& plan);

}  // namespace penstock
