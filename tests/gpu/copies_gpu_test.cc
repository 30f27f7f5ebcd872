#include "profiler/cuda/copies.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("every way of copying has a time for every size") {
  CopyPlan plan;
  plan.smallest = Bytes{1 << 20};
  plan.largest = Bytes{1 << 24};  // 5 sizes
  ProfilingProgress silent;
  const std::vector<CopySample> samples = measure_copies(0, plan, silent);
  const auto idle = std::ranges::count(samples, false, &CopySample::under_load);
  CHECK(idle == 6 * 5);
  for (const CopySample& sample : samples) {
    CHECK(sample.time.count == plan.repeats);
    CHECK(sample.time.minimum > Duration{});
    // 16 MiB in less than 1 us would be 16 TB/s.
    if (sample.bytes == plan.largest) CHECK(sample.time.minimum > Duration{1000});
  }
}

}  // namespace
}  // namespace penstock
