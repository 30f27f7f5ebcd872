#include "multi/earliest.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "multi/seeded.h"
#include "tests/watched.h"

namespace penstock {
namespace {

// The plain way: look at all of them.
std::optional<Duration> least_of(const std::vector<std::optional<Duration>>& times) {
  std::optional<Duration> least;
  for (const auto& time : times) {
    if (time && (!least || *time < *least)) least = time;
  }
  return least;
}
std::optional<std::size_t> first_of(const std::vector<std::optional<Duration>>& times,
                                    Duration until, std::size_t from) {
  for (std::size_t i = from; i < times.size(); ++i) {
    if (times[i] && *times[i] <= until) return i;
  }
  return std::nullopt;
}

}  // namespace

// 3 at 20, 12 at 10, 17 at 20.
TEST_CASE("the earliest of some times, and who is at it") {
  Earliest earliest(20);
  CHECK_FALSE(earliest.time().has_value());
  CHECK_FALSE(earliest.first_until(Duration{100}).has_value());
  earliest.set(3, Duration{20});
  earliest.set(12, Duration{10});
  earliest.set(17, Duration{20});
  CHECK(earliest.time() == Duration{10});
  CHECK(earliest.first_until(Duration{10}) == 12);
  earliest.clear(12);
  CHECK(earliest.time() == Duration{20});
  CHECK(earliest.first_until(Duration{20}) == 3);
  CHECK(earliest.first_until(Duration{20}, 4) == 17);
  CHECK_FALSE(earliest.first_until(Duration{20}, 18).has_value());
}

TEST_CASE("times in blocks answer as all of them looked at would") {
  Seeded random(9);
  for (int i = 0; i < testing::draws(50); ++i) {
    const auto count = static_cast<std::size_t>(1 + random.below(40));
    Earliest earliest(count);
    std::vector<std::optional<Duration>> plain(count);
    for (int change = 0; change < 100; ++change) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count)));
      if (random.below(3) == 0) {
        earliest.clear(at);
        plain[at].reset();
      } else {
        plain[at] = Duration{random.below(10)};
        earliest.set(at, *plain[at]);
      }
      const auto from =
          static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count) + 1));
      const Duration until{random.below(10)};
      CHECK(earliest.time() == least_of(plain));
      CHECK(earliest.first_until(until, from) == first_of(plain, until, from));
    }
  }
}

}  // namespace penstock
