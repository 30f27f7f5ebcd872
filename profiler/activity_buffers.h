// The memory that CUPTI fills, and the thread that reads what it has filled. CUPTI's callbacks only
// take from or add to a list, so that they never wait for anything that calls CUPTI.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock {

class ActivityBuffers {
 public:
  static constexpr std::size_t kBytes = std::size_t{8} << 20;

  // Called by the reading thread for every full buffer: the memory and how many bytes are valid.
  using Reader = std::function<void(std::byte* buffer, std::size_t valid)>;

  explicit ActivityBuffers(Reader reader);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  // An empty buffer of kBytes, 8-byte aligned; never null.
  [[nodiscard]] std::byte* take();
  // Full, to be read.
  void give(std::byte* buffer, std::size_t valid);
  // Returns when everything given so far has been read.
  void wait_until_read();

 private:
  struct Full {
    std::byte* buffer;
    std::size_t valid;
  };
  void read_all();

  Reader reader_;
  std::mutex mutex_;  // guards what follows; never held while reading
  std::condition_variable changed_;
  std::vector<std::unique_ptr<std::uint64_t[]>> owned_;
  std::vector<std::byte*> free_;
  std::deque<Full> full_;
  bool reading_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace penstock
