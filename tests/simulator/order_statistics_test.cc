#include "simulator/order_statistics.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

// count, count - 1, .., 1 ns: the n-th in ascending order is n.
std::vector<Duration> descending(int count) {
  std::vector<Duration> samples;
  for (int i = count; i > 0; --i) samples.emplace_back(i);
  return samples;
}

TEST_CASE("percentiles are samples, by their number in ascending order") {
  CHECK(interval_of(descending(200)) == StepInterval{Duration{10}, Duration{100}, Duration{190}});
  CHECK(interval_of(descending(20)) == StepInterval{Duration{1}, Duration{10}, Duration{19}});
  // ceil(0.35), ceil(3.5), ceil(6.65)
  CHECK(interval_of(descending(7)) == StepInterval{Duration{1}, Duration{4}, Duration{7}});
  CHECK(interval_of(descending(1)) == StepInterval{Duration{1}, Duration{1}, Duration{1}});
}

}  // namespace
}  // namespace penstock
