#include "training/cuda/cuda_device.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/gpu/kernels.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

// Stands for LibTorch's.
class OneStream : public CudaAllocator {
 public:
  [[nodiscard]] void* stream() const override { return stream_.get(); }
  Bytes held() override { return {3}; }
  Bytes peak() override { return {4}; }
  void reset_peak() override {}

 private:
  CudaStream stream_;
};

TEST_CASE("a stopwatch measures what the stream holds between its marks") {
  const auto device = make_cuda_device(0, std::make_unique<OneStream>());
  CHECK(device->name() == "cuda:0");
  CHECK(device->is_gpu());
  const auto stopwatch = device->stopwatch();
  testing::launch_busy(device->stream(), 5'000'000);
  stopwatch->begin();
  testing::launch_busy(device->stream(), 10'000'000);
  stopwatch->end();
  const Duration time = stopwatch->duration();
  CHECK(time >= Duration{9'900'000});
  CHECK(time < Duration{12'000'000});
  device->synchronize();
}

TEST_CASE("memory is what the allocator says") {
  const auto device = make_cuda_device(0, std::make_unique<OneStream>());
  CHECK(device->held_memory() == Bytes{3});
  CHECK(device->peak_memory() == Bytes{4});
}

}  // namespace
}  // namespace penstock
