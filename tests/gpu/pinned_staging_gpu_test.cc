#include "training/cuda/pinned_staging.h"

#include <thread>

#include <doctest/doctest.h>

#include "tests/gpu/device_array.h"
#include "tests/gpu/kernels.h"
#include "training/cuda/cuda_stream.h"
#include "training/loopback.h"

namespace penstock {
namespace {

TEST_CASE("a transport of host memory carries what is on a GPU") {
  constexpr std::size_t kSize = 1 << 18;
  const testing::DeviceArray<float> from(std::vector<float>(kSize, 1.0F)),
      to(std::vector<float>(kSize, 0.0F));
  LoopbackHub hub(2, {});
  std::thread sender([&] {
    const CudaStream stream;
    const auto transport = make_staged_transport(hub.transport(0), make_pinned_staging(0));
    testing::launch_busy(stream.get(), 10'000'000);
    testing::launch_add(stream.get(), from.data(), kSize, 1.0F);
    transport->send(1, 0, from.buffer(ElementType::kFloat32, stream.get()))->wait();
  });
  const CudaStream stream;
  const auto transport = make_staged_transport(hub.transport(1), make_pinned_staging(0));
  transport->receive(0, 0, to.buffer(ElementType::kFloat32, stream.get()))->wait();
  testing::launch_add(stream.get(), to.data(), kSize, 0.5F);
  sender.join();
  CHECK(to.values() == std::vector<float>(kSize, 2.5F));
}

}  // namespace
}  // namespace penstock
