#include "tests/gpu/kernels.h"

namespace penstock::testing {
namespace {

__device__ unsigned long long device_nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void busy_kernel(long long nanoseconds) {
  const unsigned long long end =
      device_nanoseconds() + static_cast<unsigned long long>(nanoseconds);
  while (device_nanoseconds() < end) {
  }
}

__global__ void add_kernel(float* data, std::size_t elements, float value) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < elements) data[i] += value;
}

}  // namespace

void launch_busy(void* stream, long long nanoseconds) {
  busy_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(nanoseconds);
}

void launch_add(void* stream, float* data, std::size_t elements, float value) {
  const unsigned int blocks = static_cast<unsigned int>((elements + 255) / 256);
  add_kernel<<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(data, elements, value);
}

}  // namespace penstock::testing
