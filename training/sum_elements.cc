#include "training/sum_elements.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "core/values/error.h"
#include "training/half.h"

namespace penstock {
namespace {

// How an element lies in memory, in what it is added up, and the ways between the two.
template <class Element>
struct Plain {
  using Stored = Element;
  using Sum = Element;
  static Sum load(Stored stored) { return stored; }
  static Stored store(Sum sum) { return sum; }
};
struct Float16 {
  using Stored = std::uint16_t;
  using Sum = float;
  static Sum load(Stored stored) { return float_of_float16(stored); }
  static Stored store(Sum sum) { return float16_of(sum); }
};
struct BFloat16 {
  using Stored = std::uint16_t;
  using Sum = float;
  static Sum load(Stored stored) { return float_of_bfloat16(stored); }
  static Stored store(Sum sum) { return bfloat16_of(sum); }
};

// Block by block, so that a block is read from every source before it is written anywhere.
template <class Kind>
void sum(std::size_t elements, const std::vector<const std::byte*>& from,
         const std::vector<std::byte*>& to) {
  constexpr std::size_t kBlock = 1024;
  using Stored = typename Kind::Stored;
  std::array<Stored, kBlock> block;
  std::array<typename Kind::Sum, kBlock> sums;
  for (std::size_t begin = 0; begin < elements; begin += kBlock) {
    const std::size_t count = std::min(kBlock, elements - begin);
    const std::size_t offset = begin * sizeof(Stored), bytes = count * sizeof(Stored);
    for (std::size_t member = 0; member < from.size(); ++member) {
      std::memcpy(block.data(), from[member] + offset, bytes);
      for (std::size_t i = 0; i < count; ++i) {
        const auto term = Kind::load(block[i]);
        sums[i] = member == 0 ? term : sums[i] + term;
      }
    }
    std::transform(sums.begin(), sums.begin() + count, block.begin(), Kind::store);
    for (std::byte* result : to) std::memcpy(result + offset, block.data(), bytes);
  }
}

}  // namespace

void sum_elements(ElementType type, std::size_t elements, const std::vector<const std::byte*>& from,
                  const std::vector<std::byte*>& to) {
  switch (type) {
    case ElementType::kByte:
      break;
    case ElementType::kInt64:
      return sum<Plain<std::uint64_t>>(elements, from, to);
    case ElementType::kFloat16:
      return sum<Float16>(elements, from, to);
    case ElementType::kBFloat16:
      return sum<BFloat16>(elements, from, to);
    case ElementType::kFloat32:
      return sum<Plain<float>>(elements, from, to);
    case ElementType::kFloat64:
      return sum<Plain<double>>(elements, from, to);
  }
  throw Error(ErrorKind::kInternal, "a sum of bytes was asked for");
}

}  // namespace penstock
