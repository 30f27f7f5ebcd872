// LibTorch counts the memory of GPUs and not of the CPU, so the process's CPU allocator is wrapped
// while there is a device. A block is booked to the device of the thread that allocated it and is
// found again by its address when any thread frees it. An address that is allocated twice was freed
// behind the wrapper's back (oneDNN does so), and its old block is booked off.
#include "training/torch/cpu_device.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/values/error.h"
#include "training/steady_time.h"
#include "training/torch/limited_cpu_device.h"
#include "training/torch/torch_version.h"

namespace penstock {

// Of one device. Blocks keep it alive, for they may be freed after the device and on other threads.
class MemoryCount {
 public:
  std::atomic<std::int64_t> held{0}, peak{0};
  std::optional<Bytes> limit;

  void require_room(std::size_t bytes) const {
    const auto asked = static_cast<std::int64_t>(bytes);
    if (!limit || held + asked <= limit->count) return;
    throw Error(ErrorKind::kMissingResource,
                "the device is full: of " + to_text(*limit) + " that it may hold, " +
                    to_text(Bytes{held}) + " are taken, and " + to_text(Bytes{asked}) +
                    " more are needed\nhelp: plan again for less memory than the device has, or "
                    "with smaller micro-batches");
  }
  void add(std::int64_t bytes) {
    const std::int64_t now = held += bytes;
    std::int64_t before = peak;
    while (before < now && !peak.compare_exchange_weak(before, now)) {
    }
  }
};

namespace {

std::shared_ptr<MemoryCount>& count_of_this_thread() {
  thread_local std::shared_ptr<MemoryCount> count;
  return count;
}

// Who holds which block. Blocks come straight from LibTorch's allocator and can be freed by either,
// so that oneDNN, which keeps some for ever, may be given them and may give back older ones.
class BlockTable {
 public:
  void add(void* data, std::size_t bytes, const std::shared_ptr<MemoryCount>& count) {
    const std::scoped_lock lock(mutex_);
    const auto size = static_cast<std::int64_t>(bytes);
    Block& block = blocks_[data];
    if (block.count) block.count->add(-block.bytes);  // was freed behind our back
    block = {size, count};
    count->add(size);
  }
  void remove(void* data) {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return;
    found->second.count->add(-found->second.bytes);
    blocks_.erase(found);
  }

 private:
  struct Block {
    std::int64_t bytes = 0;
    std::shared_ptr<MemoryCount> count;
  };
  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
};

// LibTorch knows one allocator for the CPU per process and frees by a bare function, so this is as
// global as what it wraps. It is never destroyed: storages remember the allocator they came from.
struct Wrapping {
  std::mutex mutex;
  int users = 0;
  c10::Allocator* real = nullptr;
  BlockTable blocks;
};
Wrapping& wrapping() {
  static Wrapping& the_wrapping = *new Wrapping;
  return the_wrapping;
}

void free_counted(void* data) {
  wrapping().blocks.remove(data);
  wrapping().real->raw_deallocate(data);
}

class CountingAllocator : public CpuAllocator {
 public:
  c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }

 private:
  c10::DataPtr allocate_block(std::size_t bytes) const override {
    const auto& count = count_of_this_thread();  // none: a thread without a device
    if (count) count->require_room(bytes);
    void* data = wrapping().real->raw_allocate(bytes);
    if (count && data != nullptr) wrapping().blocks.add(data, bytes, count);
    return {data, data, &free_counted, c10::Device(c10::DeviceType::CPU)};
  }
};

// While there is one, the allocator is wrapped.
class AllocatorUse {
 public:
  AllocatorUse() {
    const std::scoped_lock lock(wrapping().mutex);
    if (wrapping().users++ > 0) return;
    static CountingAllocator& counting = *new CountingAllocator;
    if (wrapping().real == nullptr) wrapping().real = c10::GetCPUAllocator();
    c10::SetCPUAllocator(&counting);
  }
  AllocatorUse(const AllocatorUse&) = delete;
  AllocatorUse& operator=(const AllocatorUse&) = delete;
  ~AllocatorUse() {
    const std::scoped_lock lock(wrapping().mutex);
    if (--wrapping().users == 0) c10::SetCPUAllocator(wrapping().real);
  }
};

class CpuStopwatch : public Stopwatch {
 public:
  void begin() override { begin_ = end_ = steady_now(); }
  void end() override { end_ = steady_now(); }
  Duration duration() override { return end_ - begin_; }

 private:
  SteadyTime begin_, end_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(std::optional<Bytes> limit) : count_(std::make_shared<MemoryCount>()) {
    count_->limit = limit;
    if (count_of_this_thread()) {
      throw Error(ErrorKind::kInternal, "this thread has a CPU device already");
    }
    count_of_this_thread() = count_;
  }
  ~CpuDevice() override {
    if (count_of_this_thread() == count_) count_of_this_thread() = nullptr;
  }
  std::string name() const override { return "cpu"; }
  bool is_gpu() const override { return false; }
  void* stream() const override { return nullptr; }
  void synchronize() override {}
  std::unique_ptr<Stopwatch> stopwatch() override { return std::make_unique<CpuStopwatch>(); }
  Bytes held_memory() override { return {count_->held}; }
  Bytes peak_memory() override { return {count_->peak}; }
  void reset_peak_memory() override { count_->peak = count_->held.load(); }

 private:
  AllocatorUse use_;
  std::shared_ptr<MemoryCount> count_;
};

}  // namespace

UncountedMemory::UncountedMemory() : count_(std::exchange(count_of_this_thread(), nullptr)) {}
UncountedMemory::~UncountedMemory() { count_of_this_thread() = std::move(count_); }

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(std::nullopt); }
std::unique_ptr<Device> make_limited_cpu_device(Bytes limit) {
  return std::make_unique<CpuDevice>(limit);
}

}  // namespace penstock
