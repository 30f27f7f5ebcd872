#include "profiler/activity_buffers.h"

#include <utility>

namespace penstock {

ActivityBuffers::ActivityBuffers(Reader reader)
    : reader_(std::move(reader)), thread_([this] { read_all(); }) {}

ActivityBuffers::~ActivityBuffers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::byte* ActivityBuffers::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    // Of 8-byte words, hence aligned; not set to zero, since CUPTI writes before anybody reads.
    owned_.emplace_back(new std::uint64_t[kBytes / sizeof(std::uint64_t)]);
    return reinterpret_cast<std::byte*>(owned_.back().get());
  }
  std::byte* const buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void ActivityBuffers::give(std::byte* buffer, std::size_t valid) {
  {
    const std::lock_guard lock(mutex_);
    full_.push_back({buffer, valid});
  }
  changed_.notify_all();
}

void ActivityBuffers::wait_until_read() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return full_.empty() && !reading_; });
}

void ActivityBuffers::read_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !full_.empty(); });
    if (full_.empty()) return;
    const Full next = full_.front();
    full_.pop_front();
    reading_ = true;
    lock.unlock();
    reader_(next.buffer, next.valid);
    lock.lock();
    reading_ = false;
    free_.push_back(next.buffer);
    changed_.notify_all();
  }
}

}  // namespace penstock
