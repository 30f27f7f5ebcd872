#include "profiler/copy_samples.h"

#include <chrono>

#include <doctest/doctest.h>

#include "profiler/sweep_budget.h"

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

// 12 s over 6 sweeps: each has 2 s, and what is left of those before it.
TEST_CASE("a budget ends every sweep in its turn, and shortens its samples") {
  using std::chrono::milliseconds, std::chrono::seconds;
  const SweepBudget budget(seconds(12), 6);
  CHECK_FALSE(budget.is_used_up(0, milliseconds(1999)));
  CHECK(budget.is_used_up(0, seconds(2)));
  CHECK_FALSE(budget.is_used_up(1, seconds(2)));
  CHECK(budget.is_used_up(5, seconds(12)));
  // 2 s for 200 samples, of which half are spared: 5 ms each.
  CHECK(budget.per_sample(milliseconds(10), 200) == milliseconds(5));
  CHECK(budget.per_sample(milliseconds(10), 10) == milliseconds(10));
  const SweepBudget none(Duration{}, 6);
  CHECK_FALSE(none.is_used_up(0, seconds(1000)));
  CHECK(none.per_sample(milliseconds(10), 200) == milliseconds(10));
}

}  // namespace
}  // namespace penstock
