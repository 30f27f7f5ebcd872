// Buffers of vectors, and ranks that are threads, as the tests of the transports use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "training/buffer.h"

namespace penstock::testing {

template <class Element>
Buffer buffer_of(std::vector<Element>& values) {
  ElementType type = ElementType::kByte;
  if (std::is_same_v<Element, std::uint16_t>) type = ElementType::kFloat16;
  if (std::is_same_v<Element, float>) type = ElementType::kFloat32;
  if (std::is_same_v<Element, double>) type = ElementType::kFloat64;
  if (std::is_same_v<Element, std::int64_t>) type = ElementType::kInt64;
  return {reinterpret_cast<std::byte*>(values.data()), values.size(), type};
}

// body(rank) on a thread per rank; what each threw, "" for nothing.
inline std::vector<std::string> on_ranks(int ranks, const std::function<void(int)>& body) {
  std::vector<std::string> thrown(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  threads.reserve(thrown.size());
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([rank, &body, &thrown] {
      try {
        body(rank);
      } catch (const std::exception& error) {
        thrown[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

// The same where none may throw; "" when none did.
inline std::string first_failure(int ranks, const std::function<void(int)>& body) {
  for (const std::string& thrown : on_ranks(ranks, body)) {
    if (!thrown.empty()) return thrown;
  }
  return "";
}

}  // namespace penstock::testing
