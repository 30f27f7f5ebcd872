// Elements on the device, for the tests.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include "training/buffer.h"
#include "training/cuda/check_cuda.h"

namespace penstock::testing {

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, size_ * sizeof(T)), "allocate what a test uses");
    data_ = static_cast<T*>(memory);
    check_cuda(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
               "fill what a test uses");
    check_cuda(cudaDeviceSynchronize(), "fill what a test uses");
  }
  ~DeviceArray() { ignore_cuda(cudaFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> values(size_);
    check_cuda(cudaDeviceSynchronize(), "read what a test made");
    check_cuda(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
               "read what a test made");
    return values;
  }
  [[nodiscard]] Buffer buffer(ElementType type, cudaStream_t stream) const {
    Buffer buffer{reinterpret_cast<std::byte*>(data_), size_ * sizeof(T) / bytes_of(type), type};
    buffer.on_device = true;
    buffer.stream = stream;
    return buffer;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

}  // namespace penstock::testing
