// A run of elements that transports move: memory that somebody else owns and keeps until the
// transfer has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock {

enum class ElementType : std::uint8_t { kByte, kInt64, kFloat16, kBFloat16, kFloat32, kFloat64 };

constexpr std::size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::kByte:
      return 1;
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return 2;
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kFloat64:
      return 8;
  }
  return 0;
}

std::string_view name_of(ElementType type);  // "float32"

struct Buffer {
  std::byte* data = nullptr;
  std::size_t elements = 0;
  ElementType type = ElementType::kByte;
  // Of memory on a GPU: the stream on which it is produced or consumed (a cudaStream_t), and that
  // it is on a GPU at all. A transport orders its work behind what that stream holds when it is
  // called, and lets the stream wait for the transfer.
  bool on_device = false;
  void* stream = nullptr;

  [[nodiscard]] std::size_t bytes() const { return elements * bytes_of(type); }
  // Elements [begin, end) of it.
  [[nodiscard]] Buffer part(std::size_t begin, std::size_t end) const {
    Buffer slice = *this;
    slice.data += begin * bytes_of(type);
    slice.elements = end - begin;
    return slice;
  }
};

}  // namespace penstock
