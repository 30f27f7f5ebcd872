#include "profiler/cuda/device_pool.h"

#include <cstddef>
#include <memory>
#include <string>

#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

class DevicePool {
 public:
  // On the current device.
  explicit DevicePool(std::size_t bytes) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes),
               "allocate " + std::to_string(bytes) + " bytes for messages");
    data_ = static_cast<std::byte*>(memory);
    check_cuda(cudaMemsetAsync(data_, 0, bytes, stream_.get()), "clear the memory for messages");
  }
  ~DevicePool() {
    ignore_cuda(cudaStreamSynchronize(stream_.get()));
    ignore_cuda(cudaFree(data_));
  }
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] void* stream() const { return stream_.get(); }

 private:
  CudaStream stream_;
  std::byte* data_ = nullptr;
};

}  // namespace

LinkPool make_device_pool(int device, Bytes bytes) {
  (void)cuda_device_at(device);
  use_cuda_device(device);
  const std::size_t elements = static_cast<std::size_t>(bytes.count) / sizeof(float);
  const auto memory = std::make_shared<DevicePool>(elements * sizeof(float));
  LinkPool pool;
  pool.buffer.data = memory->data();
  pool.buffer.elements = elements;
  pool.buffer.type = ElementType::kFloat32;
  pool.buffer.on_device = true;
  pool.buffer.stream = memory->stream();
  pool.memory = memory;
  return pool;
}

DeviceMemory device_memory(int device) {
  (void)cuda_device_at(device);
  use_cuda_device(device);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "ask for the free memory of the device");
  return {{static_cast<std::int64_t>(total)}, {static_cast<std::int64_t>(total - free)}};
}

}  // namespace penstock
