#include "training/nccl/nccl_transport.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "tests/gpu/device_array.h"
#include "tests/gpu/kernels.h"
#include "tests/runtime_bridge/memory_store.h"
#include "training/cuda/cuda_devices.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

using testing::DeviceArray;
using tests::MemoryStore;
using tests::SharedMemory;

std::unique_ptr<Transport> transport_of(int rank, int size,
                                        const std::shared_ptr<SharedMemory>& shared) {
  NcclOptions options;
  options.rank = rank;
  options.size = size;
  options.device = rank;
  options.name = "test";
  options.time_out = std::chrono::seconds(60);
  return make_nccl_transport(options, std::make_unique<MemoryStore>(shared));
}

template <class T>
void check_alone(Transport& transport, CommunicatorId group, const CudaStream& stream,
                 ElementType type, const std::vector<T>& values) {
  const DeviceArray<T> array(values);
  transport.all_reduce(group, array.buffer(type, stream.get()))->wait();
  transport.reduce_scatter(group, array.buffer(type, stream.get()))->wait();
  transport.all_gather(group, array.buffer(type, stream.get()))->wait();
  CHECK(array.values() == values);
}

TEST_CASE("collectives of one rank change nothing, in every element type") {
  const auto shared = std::make_shared<SharedMemory>();
  const auto transport = transport_of(0, 1, shared);
  const CommunicatorId group = transport->form_group("alone", {0});
  const CudaStream stream;
  check_alone<float>(*transport, group, stream, ElementType::kFloat32, {1.5F, -2.0F});
  check_alone<double>(*transport, group, stream, ElementType::kFloat64, {1.5, -2.0});
  check_alone<std::int64_t>(*transport, group, stream, ElementType::kInt64, {7, -9});
  // 1 and -2 in fp16 and in bf16.
  check_alone<std::uint16_t>(*transport, group, stream, ElementType::kFloat16, {0x3C00, 0xC000});
  check_alone<std::uint16_t>(*transport, group, stream, ElementType::kBFloat16, {0x3F80, 0xC000});
  transport->barrier();
  transport->barrier();
}

TEST_CASE("a collective comes after what its stream holds") {
  const auto shared = std::make_shared<SharedMemory>();
  const auto transport = transport_of(0, 1, shared);
  const CommunicatorId group = transport->form_group("alone", {0});
  const CudaStream stream;
  const DeviceArray<float> array({1.0F, 2.0F});
  testing::launch_busy(stream.get(), 10'000'000);
  testing::launch_add(stream.get(), array.data(), 2, 1.0F);
  const auto transfer =
      transport->all_reduce(group, array.buffer(ElementType::kFloat32, stream.get()));
  CHECK_FALSE(transfer->done());
  transfer->wait();
  CHECK(array.values() == std::vector<float>{2.0F, 3.0F});
}

TEST_CASE("a buffer in host memory goes through the GPU") {
  const auto shared = std::make_shared<SharedMemory>();
  const auto transport = transport_of(0, 1, shared);
  const CommunicatorId group = transport->form_group("alone", {0});
  std::vector<double> values{1.0, 2.0};
  transport
      ->all_reduce(group, {reinterpret_cast<std::byte*>(values.data()), 2, ElementType::kFloat64})
      ->wait();
  CHECK(values == std::vector<double>{1.0, 2.0});
}

TEST_CASE("after an abort everything fails and says why") {
  const auto shared = std::make_shared<SharedMemory>();
  const auto transport = transport_of(0, 1, shared);
  const CommunicatorId group = transport->form_group("alone", {0});
  const CudaStream stream;
  const DeviceArray<float> array({1.0F});
  transport->abort("the test says so");
  CHECK_THROWS_WITH_AS(
      (void)transport->all_reduce(group, array.buffer(ElementType::kFloat32, stream.get())),
      "the test says so", TransportFailure);
}

// Two ranks as threads, each with a GPU of its own; nothing on a machine with one.
void run_two_ranks(const std::function<void(Transport&, const CudaStream&)>& body) {
  if (cuda_devices().size() < 2) {
    MESSAGE("one GPU only: not run");
    return;
  }
  const auto shared = std::make_shared<SharedMemory>();
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      use_cuda_device(rank);
      const auto transport = transport_of(rank, 2, shared);
      const CudaStream stream;
      body(*transport, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("two ranks exchange an activation and a gradient as one batch") {
  run_two_ranks([](Transport& transport, const CudaStream& stream) {
    const int other = 1 - transport.rank();
    const auto value = static_cast<float>(transport.rank() + 1);
    const DeviceArray<float> mine(std::vector<float>(1 << 22, value)),
        theirs(std::vector<float>(1 << 22, 0.0F));
    transport.begin_batch();
    const auto sent = transport.send(other, 0, mine.buffer(ElementType::kFloat32, stream.get()));
    const auto received =
        transport.receive(other, 0, theirs.buffer(ElementType::kFloat32, stream.get()));
    transport.end_batch();
    received->wait();
    sent->wait();
    CHECK(theirs.values() == std::vector<float>(1 << 22, 3.0F - value));
  });
}

TEST_CASE("two ranks sum, scatter and gather") {
  run_two_ranks([](Transport& transport, const CudaStream& stream) {
    const CommunicatorId group = transport.form_group("both", {0, 1});
    const auto rank = static_cast<std::size_t>(transport.rank());
    const DeviceArray<float> array(rank == 0 ? std::vector<float>{1, 2}
                                             : std::vector<float>{10, 20});
    const Buffer buffer = array.buffer(ElementType::kFloat32, stream.get());
    transport.reduce_scatter(group, buffer)->wait();
    CHECK(array.values()[rank] == (rank == 0 ? 11.0F : 22.0F));
    transport.all_gather(group, buffer)->wait();
    CHECK(array.values() == std::vector<float>{11, 22});
    transport.all_reduce(group, buffer)->wait();
    CHECK(array.values() == std::vector<float>{22, 44});
    transport.barrier();
  });
}

}  // namespace
}  // namespace penstock
