#include "profiler/activity_buffers.h"

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("every full buffer is read once, in order, and used again") {
  std::vector<int> read;
  std::set<std::byte*> used;
  ActivityBuffers buffers([&](std::byte* buffer, std::size_t valid) {
    int value = 0;
    REQUIRE(valid == sizeof value);
    std::memcpy(&value, buffer, valid);
    read.push_back(value);
  });
  for (int i = 0; i < 50; ++i) {
    std::byte* const buffer = buffers.take();
    CHECK(reinterpret_cast<std::uintptr_t>(buffer) % 8 == 0);
    used.insert(buffer);
    std::memcpy(buffer, &i, sizeof i);
    buffers.give(buffer, sizeof i);
    buffers.wait_until_read();
  }
  REQUIRE(read.size() == 50);
  for (int i = 0; i < 50; ++i) CHECK(read[static_cast<std::size_t>(i)] == i);
  CHECK(used.size() == 1);
}

TEST_CASE("buffers that are taken together differ") {
  ActivityBuffers buffers([](std::byte*, std::size_t) {});
  std::byte* const first = buffers.take();
  CHECK(first != buffers.take());
}

TEST_CASE("what threads give while another reads is not lost") {
  std::size_t sum = 0;
  {
    ActivityBuffers buffers([&](std::byte*, std::size_t valid) { sum += valid; });
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 100; ++k) buffers.give(buffers.take(), 1);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }  // the end reads what is left
  CHECK(sum == 400);
}

}  // namespace
}  // namespace penstock
