// Shares out independent work.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <vector>

namespace penstock {

// More are refused where somebody asks for them.
inline constexpr int kMostThreads = 1024;

// Calls work(0) .. work(count - 1), every one once, on so many threads, and on no more than there
// is work for. What one of them throws is handed on.
template <class Work>
void in_parallel(int threads, std::size_t count, Work work) {
  std::atomic<std::size_t> taken{0};
  const auto take = [&] {
    for (std::size_t i = taken++; i < count; i = taken++) work(i);
  };
  std::vector<std::future<void>> others;
  const auto useful = static_cast<int>(std::min<std::size_t>(count, kMostThreads));
  for (int t = 1; t < std::min(threads, useful); ++t)
    others.push_back(std::async(std::launch::async, take));
  take();
  for (std::future<void>& other : others) other.get();
}

}  // namespace penstock
