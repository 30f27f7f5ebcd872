#include "profiler/copy_samples.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

CopySample copy(CopyWay way, bool under_load, std::int64_t bytes, int median) {
  CopySample sample;
  sample.way = way;
  sample.under_load = under_load;
  sample.bytes = {bytes};
  sample.time.median = Duration{median};
  sample.time.count = 7;
  return sample;
}

TEST_CASE("a curve of copies has one way, in ascending size") {
  const std::vector<CopySample> samples{
      copy(CopyWay::kToDevice, false, 4096, 90), copy(CopyWay::kToDevice, false, 1024, 40),
      copy(CopyWay::kToDevice, true, 1024, 80), copy(CopyWay::kToHost, false, 1024, 50)};
  CHECK(curve_of(samples, CopyWay::kToDevice, HostMemory::kPinned, false) ==
        std::vector<CurvePoint>{{{1024}, Duration{40}}, {{4096}, Duration{90}}});
  CHECK(curve_of(samples, CopyWay::kToDevice, HostMemory::kPageable, false).empty());
}

// 4096 bytes are read and as many written in 2 ns: 4096 GB/s.
TEST_CASE("the bandwidth of memory is that of the largest idle copy within the device") {
  CHECK(memory_bandwidth_of({copy(CopyWay::kOnDevice, false, 1024, 1),
                             copy(CopyWay::kOnDevice, false, 4096, 2),
                             copy(CopyWay::kOnDevice, true, 8192, 1)})
            .value == 4096e9);
  CHECK(memory_bandwidth_of({copy(CopyWay::kToHost, false, 1024, 1)}).value == 0.0);
}

}  // namespace
}  // namespace penstock
