#include "profiler/link_fit.h"

#include <cstdint>
#include <optional>

#include <doctest/doctest.h>

#include "profiler/bus_bandwidth.h"

namespace penstock {
namespace {

CurvePoint point(std::int64_t bytes, std::int64_t ns) { return {{bytes}, Duration{ns}}; }

// 10 us and 1 GB/s, that is 1 ns per byte.
TEST_CASE("points on a line give its latency and bandwidth back, without error") {
  const std::optional<LinkFit> fit =
      fit_link({point(1000, 11'000), point(10'000, 20'000), point(1'000'000, 1'010'000)});
  REQUIRE(fit);
  CHECK(fit->latency == Duration{10'000});
  CHECK(fit->bandwidth.value == doctest::Approx(1e9));
  CHECK(fit->worst_error < 1e-9);
}

// Two points and a third that lies on no line with them. Weights 1 / t^2 make the small one count
// as much as the large one: u = 1/t = {1, 1/2, 1/100}, v = bytes/t = {1, 1, 2} with bytes {1, 2,
// 200}.
//   a (1 + 1/4 + 1/10^4) + b (1 + 1/2 + 1/50) = 1.51     uu = 1.2501, uv = 1.52
//   a 1.52 + b (1 + 1 + 4) = 4                           vv = 6
// determinant 7.5006 - 2.3104 = 5.1902; a = (1.51 * 6 - 4 * 1.52) / 5.1902 = 2.98 / 5.1902 =
// 0.57416, b = (4 * 1.2501 - 1.51 * 1.52) / 5.1902 = 2.7052 / 5.1902 = 0.52121. Relative
// errors: 1.09537 - 1; (0.57416 + 1.04243) / 2 - 1 = -0.1917; 1.04817 - 1. In units of 1,000 ns and
// 1,000 bytes.
TEST_CASE("relative errors are minimised, so that small messages count") {
  const std::optional<LinkFit> fit =
      fit_link({point(1000, 1000), point(2000, 2000), point(200'000, 100'000)});
  REQUIRE(fit);
  CHECK(fit->latency == Duration{574});
  CHECK(fit->bandwidth.value == doctest::Approx(1e9 / 0.52121).epsilon(1e-4));
  CHECK(fit->worst_error == doctest::Approx(0.1917).epsilon(1e-3));
}

// Falling behind proportion: 1 us for 1,000 bytes and 4 us for 2,000 want a = -2 us.
TEST_CASE("a latency below nothing is nothing") {
  const std::optional<LinkFit> fit = fit_link({point(1000, 1000), point(2000, 4000)});
  REQUIRE(fit);
  CHECK(fit->latency == Duration{});
  // b = sum(v) / sum(vv) = (1 + 0.5) / (1 + 0.25) = 1.2 ns per byte.
  CHECK(fit->bandwidth.value == doctest::Approx(1e9 / 1.2));
}

TEST_CASE("one size, or times that do not grow, have no line") {
  CHECK_FALSE(fit_link({}));
  CHECK_FALSE(fit_link({point(1000, 1000)}));
  CHECK_FALSE(fit_link({point(1000, 1000), point(1000, 1001)}));
  CHECK_FALSE(fit_link({point(1000, 0), point(2000, 1)}));
}

// 1 GB in 10 ms: 100 GB/s algorithm bandwidth. Eight ranks: an all-reduce carries 2 * 7 / 8 of it
// over the busiest link, 175 GB/s; a reduce-scatter or an all-gather half of that, 87.5.
TEST_CASE("bus bandwidth is that of nccl-tests") {
  const Bytes bytes{1'000'000'000};
  const Duration time{10'000'000};
  CHECK(algorithm_bandwidth(bytes, time).value == doctest::Approx(1e11));
  CHECK(bus_bandwidth(CollectiveKind::kAllReduce, 8, bytes, time).value ==
        doctest::Approx(1.75e11));
  CHECK(bus_bandwidth(CollectiveKind::kReduceScatter, 8, bytes, time).value ==
        doctest::Approx(0.875e11));
  CHECK(bus_bandwidth(CollectiveKind::kAllGather, 8, bytes, time).value ==
        doctest::Approx(0.875e11));
  CHECK(bus_bandwidth(CollectiveKind::kAllReduce, 2, bytes, time).value == doctest::Approx(1e11));
  CHECK(algorithm_bandwidth(bytes, Duration{}).value == 0.0);
}

}  // namespace
}  // namespace penstock
