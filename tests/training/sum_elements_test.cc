#include "training/sum_elements.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/training/buffers.h"

namespace penstock {
namespace {

template <class Element>
std::vector<Element> sum_of(ElementType type, std::vector<std::vector<Element>> terms) {
  std::vector<const std::byte*> from;
  for (auto& term : terms) from.push_back(testing::buffer_of(term).data);
  std::vector<Element> result(terms[0].size());
  sum_elements(type, result.size(), from, {testing::buffer_of(result).data});
  return result;
}

TEST_CASE("floats are added in the order of the members") {
  // 2^24 + 1 rounds back to 2^24 in a float; 1 + 1 + 2^24 does not.
  const float big = 16777216.0F;
  CHECK(sum_of<float>(ElementType::kFloat32, {{big}, {1.0F}, {1.0F}})[0] == big);
  CHECK(sum_of<float>(ElementType::kFloat32, {{1.0F}, {1.0F}, {big}})[0] == big + 2.0F);
  CHECK(sum_of<double>(ElementType::kFloat64, {{0.5, 1e300}, {0.25, 1e300}}) ==
        std::vector<double>{0.75, 2e300});
}

TEST_CASE("int64 wraps around") {
  const auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(sum_of<std::int64_t>(ElementType::kInt64, {{most, -5}, {1, 3}}) ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), -2});
}

TEST_CASE("halves are added up in float and rounded once") {
  // 2048 + 1 + 1: rounded after each addition it would stay 2048 (0x6800), once it is 2050
  // (0x6801).
  CHECK(sum_of<std::uint16_t>(ElementType::kFloat16, {{0x6800}, {0x3C00}, {0x3C00}})[0] == 0x6801);
  // bfloat16 256 + 1 + 1 = 258: 0x4380, 0x3F80 -> 0x4381.
  CHECK(sum_of<std::uint16_t>(ElementType::kBFloat16, {{0x4380}, {0x3F80}, {0x3F80}})[0] == 0x4381);
}

TEST_CASE("what is longer than a block is added up in place") {
  std::vector<std::vector<std::int64_t>> values(3, std::vector<std::int64_t>(5000));
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (std::size_t member = 0; member < 3; ++member) {
    for (std::size_t i = 0; i < 5000; ++i) {
      values[member][i] = static_cast<std::int64_t>(i * (member + 1));
    }
    from.push_back(testing::buffer_of(values[member]).data);
    to.push_back(testing::buffer_of(values[member]).data);
  }
  sum_elements(ElementType::kInt64, 5000, from, to);
  for (const auto& sums : values) {
    for (std::size_t i = 0; i < 5000; ++i) REQUIRE(sums[i] == static_cast<std::int64_t>(6 * i));
  }
}

TEST_CASE("bytes have no sum") {
  CHECK_THROWS_AS(sum_of<char>(ElementType::kByte, {{1}, {2}}), Error);
}

}  // namespace
}  // namespace penstock
