#include "studies/plan_set.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("every number of GPUs up to 64 is a step") {
  CHECK(plan_set_sizes(1) == std::vector<int>{1});
  CHECK(plan_set_sizes(3) == std::vector<int>{1, 2, 3});
  CHECK(plan_set_sizes(64).size() == 64);
  CHECK(plan_set_sizes(64).back() == 64);
}

TEST_CASE("of more GPUs there are at most 64 steps, with the powers of two and all GPUs") {
  for (const int gpus : {65, 100, 1000, 1024, 10'000, 2'147'483'647}) {
    const std::vector<int> sizes = plan_set_sizes(gpus);
    CHECK(sizes.size() <= 64);
    CHECK(sizes.size() > 40);
    CHECK(sizes.back() == gpus);
    CHECK(std::is_sorted(sizes.begin(), sizes.end()));
    for (std::int64_t power = 1; power < gpus; power *= 2) {
      CHECK(std::binary_search(sizes.begin(), sizes.end(), static_cast<int>(power)));
    }
  }
}

}  // namespace
}  // namespace penstock
