#include "estimator/estimate_lengths.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "estimator/estimate_profile.h"
#include "estimator/shipped_data.h"
#include "tests/estimator/models.h"

using namespace penstock;
using tests::shipped_model;

namespace {

DeviceSheet a100() {
  for (DeviceSheet& sheet : shipped_devices()) {
    if (sheet.name == "a100-sxm-40gb") return sheet;
  }
  FAIL("no such datasheet");
  return {};
}

}  // namespace

TEST_CASE("lengths double from 16 on and end with the longest") {
  CHECK(grid_of_lengths(100) == std::vector<int>{16, 32, 64, 100});
  CHECK(grid_of_lengths(64) == std::vector<int>{16, 32, 64});
  CHECK(grid_of_lengths(7) == std::vector<int>{7});
}

TEST_CASE(
    "every length has the rows that an estimate of it alone has, for sizes up to the tokens") {
  const Architecture model = shipped_model("gpt-6.7b");
  EstimateRequest request;
  const Estimate all =
      estimate_lengths(model, a100(), shipped_efficiency(), request, {32, 100}, 256);
  request.sequence_length = 100;
  request.samples = {1, 2};  // 4 x 100 tokens are more than 256
  const Estimate longest = estimate_profile(model, a100(), shipped_efficiency(), request);
  request.sequence_length = 32;
  request.samples = {1, 2, 4, 8};
  const Estimate shortest = estimate_profile(model, a100(), shipped_efficiency(), request);
  REQUIRE(all.profile.section_types.size() == longest.profile.section_types.size());
  for (std::size_t type = 0; type < all.profile.section_types.size(); ++type) {
    const auto& found = all.profile.section_types[type];
    std::vector<Measurement> expected = shortest.profile.section_types[type].measurements;
    const auto& more = longest.profile.section_types[type].measurements;
    expected.insert(expected.end(), more.begin(), more.end());
    CHECK(found.measurements == expected);
    CHECK(found.parameters == longest.profile.section_types[type].parameters);
  }
  CHECK(all.profile.sources == longest.profile.sources);
}
