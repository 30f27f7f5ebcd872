#include "training/cuda/cuda_copies.h"

#include <functional>
#include <thread>

#include <doctest/doctest.h>

#include "tests/gpu/device_array.h"
#include "tests/gpu/kernels.h"
#include "training/cuda/cuda_stream.h"
#include "training/loopback.h"

namespace penstock {
namespace {

using testing::DeviceArray;

void run_two_ranks(const std::function<void(Transport&, const CudaStream&)>& body) {
  const auto engine = make_cuda_copies(0);
  LoopbackOptions options;
  options.engine = engine.get();
  options.time_out = std::chrono::seconds(60);
  LoopbackHub hub(2, options);
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const CudaStream stream;
      body(*hub.transport(rank), stream);
      check_cuda(cudaStreamSynchronize(stream.get()), "end the test");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE(
    "a message between ranks on one GPU comes after what made it and before what follows it") {
  constexpr std::size_t kSize = 1 << 20;
  const DeviceArray<float> from(std::vector<float>(kSize, 1.0F)),
      to(std::vector<float>(kSize, 0.0F));
  run_two_ranks([&](Transport& transport, const CudaStream& stream) {
    if (transport.rank() == 0) {
      testing::launch_busy(stream.get(), 20'000'000);
      testing::launch_add(stream.get(), from.data(), kSize, 1.0F);  // 2, sent
      const auto sent = transport.send(1, 0, from.buffer(ElementType::kFloat32, stream.get()));
      sent->wait();
      testing::launch_add(stream.get(), from.data(), kSize, 5.0F);  // must not be seen
    } else {
      transport.receive(0, 0, to.buffer(ElementType::kFloat32, stream.get()))->wait();
      testing::launch_add(stream.get(), to.data(), kSize, 0.5F);
    }
  });
  CHECK(to.values() == std::vector<float>(kSize, 2.5F));
  CHECK(from.values() == std::vector<float>(kSize, 7.0F));
}

TEST_CASE("ranks on one GPU sum their gradients") {
  const DeviceArray<float> first({1.0F, 2.0F}), second({10.0F, 20.0F});
  run_two_ranks([&](Transport& transport, const CudaStream& stream) {
    const DeviceArray<float>& mine = transport.rank() == 0 ? first : second;
    const CommunicatorId group = transport.form_group("both", {0, 1});
    transport.all_reduce(group, mine.buffer(ElementType::kFloat32, stream.get()))->wait();
  });
  CHECK(first.values() == std::vector<float>{11.0F, 22.0F});
  CHECK(second.values() == first.values());
}

TEST_CASE("a copy to the host comes after what made the data") {
  const CudaStream stream;
  const DeviceArray<float> array({1.0F, 2.0F});
  const Buffer buffer = array.buffer(ElementType::kFloat32, stream.get());
  testing::launch_busy(stream.get(), 10'000'000);
  testing::launch_add(stream.get(), array.data(), 2, 1.0F);
  std::vector<float> values(2);
  copy_to_host(buffer, reinterpret_cast<std::byte*>(values.data()));
  CHECK(values == std::vector<float>{2.0F, 3.0F});
  values = {7.0F, 8.0F};
  copy_to_device(reinterpret_cast<const std::byte*>(values.data()), buffer);
  CHECK(array.values() == std::vector<float>{7.0F, 8.0F});
}

}  // namespace
}  // namespace penstock
