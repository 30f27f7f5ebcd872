#include "training/shuffled_order.h"

#include <cstdint>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("the order of n numbers has each of them once, for every n") {
  for (std::uint64_t n = 1; n <= 130; ++n) {
    for (const std::uint64_t key : {0U, 1U, 77U}) {
      const ShuffledOrder order(n, key);
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < n; ++i) seen.insert(order(i));
      CAPTURE(n);
      CHECK(seen.size() == n);
      CHECK(*seen.rbegin() == n - 1);
    }
  }
}

TEST_CASE("large orders need no memory and stay within bounds") {
  const std::uint64_t n = (std::uint64_t{1} << 62) - 12345;
  const ShuffledOrder order(n, 3);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    seen.insert(order(i * (n / 1000)));
    CHECK(order(i) < n);
  }
  CHECK(seen.size() == 1000);
}

// Where number i of 5 comes to lie over 4,000 keys: each place 800 times, with a standard deviation
// of sqrt(4000 * 0.2 * 0.8) = 25.3. Five of these are 127.
TEST_CASE("every number comes to every place equally often") {
  std::vector<std::vector<int>> count(5, std::vector<int>(5, 0));
  for (std::uint64_t key = 0; key < 4000; ++key) {
    const ShuffledOrder order(5, key);
    for (std::uint64_t i = 0; i < 5; ++i) ++count[i][order(i)];
  }
  for (const auto& of_number : count) {
    for (const int times : of_number) {
      CHECK(times > 800 - 127);
      CHECK(times < 800 + 127);
    }
  }
}

// Of 1,000 numbers in a random order, neighbours stay neighbours (the next number follows) once on
// average.
TEST_CASE("neighbours do not stay together") {
  const ShuffledOrder order(1000, 9);
  int together = 0;
  for (std::uint64_t i = 0; i + 1 < 1000; ++i) together += order(i) + 1 == order(i + 1) ? 1 : 0;
  CHECK(together < 8);
}

}  // namespace
}  // namespace penstock
