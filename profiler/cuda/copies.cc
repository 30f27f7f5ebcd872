// Parts of a pool larger than twice the cache are copied in turn, so that no copy finds its bytes
// in a cache. Times come from the device's events; load is a queue of memsets on another stream,
// and a sample counts only if the load outlasted it.
#include "profiler/cuda/copies.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "profiler/sweep_budget.h"
#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

enum class Place { kDevice, kPinned, kPageable };

// A pool of memory whose parts are taken in turn.
class Memory {
 public:
  Memory(Place place, std::size_t bytes) : place_(place), bytes_(bytes) {
    const std::string what = "allocate " + std::to_string(bytes) + " bytes to copy";
    void* memory = nullptr;
    if (place == Place::kDevice) {
      check_cuda(cudaMalloc(&memory, bytes), what);
    } else if (place == Place::kPinned) {
      check_cuda(cudaMallocHost(&memory, bytes), what);
    } else {
      pageable_.assign(bytes, std::byte{1});  // touched, so that the pages are there
      memory = pageable_.data();
    }
    data_ = static_cast<std::byte*>(memory);
  }
  ~Memory() {
    if (place_ == Place::kDevice) ignore_cuda(cudaFree(data_));
    if (place_ == Place::kPinned) ignore_cuda(cudaFreeHost(data_));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::byte* part(std::size_t turn, std::size_t bytes) const {
    return data_ + turn % (bytes_ / bytes) * bytes;
  }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  Place place_;
  std::size_t bytes_;
  std::vector<std::byte> pageable_;
  std::byte* data_ = nullptr;
};

// Kernels that fill device memory, queued ahead of what is measured.
class Load {
 public:
  explicit Load(const Memory& memory) : memory_(memory) {}

  void queue(int kernels) {
    for (int i = 0; i < kernels; ++i) {
      check_cuda(cudaMemsetAsync(memory_.data(), i & 1, memory_.bytes(), stream_.get()),
                 "queue a memset as load");
    }
    end_.record(stream_.get());
  }
  [[nodiscard]] bool is_over() const { return end_.has_passed(); }
  void wait() { end_.wait(); }

 private:
  const Memory& memory_;
  CudaStream stream_;
  CudaEvent end_;
};

class CopyMeter {
 public:
  CopyMeter(const CudaDevice& device, const CopyPlan& plan, ProfilingProgress& progress)
      : plan_(plan),
        progress_(progress),
        pool_bytes_(pool_bytes(device, plan)),
        budget_(plan.budget, sweeps(plan)),
        per_sample_(budget_.per_sample(plan.per_sample, samples_of_sweep(plan))) {}

  std::vector<CopySample> run() {
    for (const Case& one : kCases) sweep(one, false);
    for (const Case& one : kCases) {
      if (plan_.under_load) sweep(one, true);
    }
    return std::move(samples_);
  }

 private:
  struct Case {
    CopyWay way;
    HostMemory memory;
  };
  static constexpr std::array<Case, 6> kCases{{{CopyWay::kToDevice, HostMemory::kPinned},
                                               {CopyWay::kToHost, HostMemory::kPinned},
                                               {CopyWay::kBothWays, HostMemory::kPinned},
                                               {CopyWay::kToDevice, HostMemory::kPageable},
                                               {CopyWay::kToHost, HostMemory::kPageable},
                                               {CopyWay::kOnDevice, HostMemory::kPinned}}};
  static constexpr int kMostLoadKernels = 512;  // more than about 1,000 launches would block us
  static constexpr int kMostCopies = 4096;

  static int sweeps(const CopyPlan& plan) {
    return static_cast<int>(kCases.size()) * (plan.under_load ? 2 : 1);
  }
  static std::int64_t samples_of_sweep(const CopyPlan& plan) {
    std::int64_t sizes = 0;
    for (Bytes bytes = plan.smallest; bytes <= plan.largest; bytes = bytes * 2) ++sizes;
    return std::max<std::int64_t>(1, sizes * (plan.repeats + plan.warm_up));
  }

  // More than twice the cache, so that a part that comes round again is no longer in it.
  static std::size_t pool_bytes(const CudaDevice& device, const CopyPlan& plan) {
    const std::int64_t twice = 2 * device.l2_cache.count + plan.largest.count;
    return static_cast<std::size_t>(std::max(plan.largest.count, twice - twice % 256));
  }

  void sweep(const Case& one, bool under_load) {
    const int sweep = case_++;
    progress_.update(under_load ? "copies under load" : "copies", sweep, sweeps(plan_));
    for (Bytes bytes = plan_.smallest; bytes <= plan_.largest; bytes = bytes * 2) {
      if (progress_.stop() || budget_.is_used_up(sweep, steady_now() - began_)) return;
      CopySample sample{one.way, one.memory, under_load, bytes, {}};
      const std::optional<std::vector<Duration>> times = measure(one, under_load, bytes);
      if (!times) continue;
      sample.time = summarize(*times);
      samples_.push_back(sample);
    }
  }

  std::optional<std::vector<Duration>> measure(const Case& one, bool under_load, Bytes bytes) {
    const auto size = static_cast<std::size_t>(bytes.count);
    Duration once{};
    for (int i = 0; i < std::max(plan_.warm_up, 1); ++i) once = time_of(one, size, 1);
    const std::int64_t enough = per_sample_ / std::max(once, Duration{1}) + 1;
    const int copies = static_cast<int>(std::min<std::int64_t>(enough, kMostCopies));
    std::vector<Duration> times;
    times.reserve(static_cast<std::size_t>(plan_.repeats));
    for (int i = 0; i < plan_.repeats; ++i) {
      const std::optional<Duration> time =
          under_load ? time_under_load(one, size, copies) : time_of(one, size, copies);
      if (!time) return std::nullopt;
      times.push_back(*time / copies);
    }
    return times;
  }

  // Nothing when even the longest load ends before the copies do.
  std::optional<Duration> time_under_load(const Case& one, std::size_t size, int copies) {
    for (;;) {
      load_.queue(load_kernels_);
      const Duration time = time_of(one, size, copies);
      const bool lasted = !load_.is_over();
      load_.wait();
      if (lasted) return time;
      if (load_kernels_ == kMostLoadKernels) return std::nullopt;
      load_kernels_ = std::min(2 * load_kernels_, kMostLoadKernels);
    }
  }

  Duration time_of(const Case& one, std::size_t size, int copies) {
    const bool both = one.way == CopyWay::kBothWays;
    begin_.record(first_.get());
    if (both) begin_.hold_back(second_.get());
    for (int i = 0; i < copies; ++i) {
      const std::size_t turn = turn_++;
      if (both) {
        copy(CopyWay::kToDevice, one.memory, turn, size, first_);
        copy(CopyWay::kToHost, one.memory, turn, size, second_);
      } else {
        copy(one.way, one.memory, turn, size, first_);
      }
    }
    if (both) {
      other_end_.record(second_.get());
      other_end_.hold_back(first_.get());
    }
    end_.record(first_.get());
    end_.wait();
    return end_.since(begin_);
  }

  void copy(CopyWay way, HostMemory memory, std::size_t turn, std::size_t size,
            const CudaStream& stream) {
    const Memory& host = memory == HostMemory::kPinned ? pinned_ : pageable_;
    const std::size_t host_turn = 2 * turn + (way == CopyWay::kToHost ? 1 : 0);
    std::byte* const here = device_.part(turn, size);
    const std::byte* const there = other_device_.part(turn, size);
    cudaError_t code = cudaSuccess;
    if (way == CopyWay::kToDevice) {
      code = cudaMemcpyAsync(here, host.part(host_turn, size), size, cudaMemcpyHostToDevice,
                             stream.get());
    } else if (way == CopyWay::kToHost) {
      code = cudaMemcpyAsync(host.part(host_turn, size), there, size, cudaMemcpyDeviceToHost,
                             stream.get());
    } else {
      code = cudaMemcpyAsync(here, there, size, cudaMemcpyDeviceToDevice, stream.get());
    }
    check_cuda(code, "copy " + std::to_string(size) + " bytes");
  }

  const CopyPlan& plan_;
  ProfilingProgress& progress_;
  std::size_t pool_bytes_;
  const SteadyTime began_ = steady_now();
  SweepBudget budget_;
  Duration per_sample_;
  Memory device_{Place::kDevice, pool_bytes_}, other_device_{Place::kDevice, pool_bytes_};
  Memory load_memory_{Place::kDevice, pool_bytes_};
  // Twice, so that the two ways never share a part.
  Memory pinned_{Place::kPinned, 2 * pool_bytes_}, pageable_{Place::kPageable, pool_bytes_};
  CudaStream first_, second_;
  CudaEvent begin_{CudaEvent::Timing::kOn}, end_{CudaEvent::Timing::kOn}, other_end_;
  Load load_{load_memory_};
  int load_kernels_ = 64, case_ = 0;
  std::size_t turn_ = 0;
  std::vector<CopySample> samples_;
};

}  // namespace

std::vector<CopySample> measure_copies(int device, const CopyPlan& plan,
                                       ProfilingProgress& progress) {
  use_cuda_device(device);  // before the meter's members allocate on it
  return CopyMeter(cuda_device_at(device), plan, progress).run();
}

}  // namespace penstock
