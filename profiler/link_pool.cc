#include "profiler/link_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock {

Bytes link_pool_bytes(Bytes largest_message) {
  constexpr std::int64_t kLargerThanCaches = std::int64_t{192} << 20;
  return {std::max(kLargerThanCaches, 2 * largest_message.count)};
}

LinkPool make_host_pool(Bytes bytes) {
  const auto memory = std::make_shared<std::vector<float>>(
      static_cast<std::size_t>(bytes.count) / sizeof(float), 1.0F);
  LinkPool pool;
  pool.buffer.data = reinterpret_cast<std::byte*>(memory->data());
  pool.buffer.elements = memory->size();
  pool.buffer.type = ElementType::kFloat32;
  pool.memory = memory;
  return pool;
}

}  // namespace penstock
