#include "training/staged_transport.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "training/loopback.h"

namespace penstock {
namespace {

// A device whose memory is ours with every bit turned round, so that a byte that was not staged is
// wrong. A copy happens only when it is waited for or asked about the second time.
class FakeDevice : public StagingMemory {
 public:
  struct Counts {
    int allocated = 0, released = 0, copies = 0;
  };
  explicit FakeDevice(Counts& counts) : counts_(counts) {}

  std::byte* allocate(std::size_t bytes) override {
    ++counts_.allocated;
    return new std::byte[bytes];
  }
  void release(std::byte* memory) override {
    ++counts_.released;
    delete[] memory;
  }
  std::unique_ptr<Copy> to_host(const Buffer& device, std::byte* host) override {
    ++counts_.copies;
    return std::make_unique<LateCopy>(device.data, host, device.bytes());
  }
  std::unique_ptr<Copy> to_device(const std::byte* host, const Buffer& device) override {
    ++counts_.copies;
    auto copy = std::make_unique<LateCopy>(host, device.data, device.bytes());
    copy->wait();  // its stream holds back whoever uses the buffer
    return copy;
  }

 private:
  class LateCopy : public Copy {
   public:
    LateCopy(const std::byte* from, std::byte* to, std::size_t bytes)
        : from_(from), to_(to), bytes_(bytes) {}
    bool done() override { return asked_++ > 0; }
    void wait() override {
      std::transform(from_, from_ + bytes_, to_, [](std::byte b) { return ~b; });
    }

   private:
    const std::byte* from_;
    std::byte* to_;
    std::size_t bytes_;
    int asked_ = 0;
  };

  Counts& counts_;
};

template <class T>
std::vector<std::byte> on_fake_device(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  for (std::byte& b : bytes) b = ~b;
  return bytes;
}

Buffer device_buffer(std::vector<std::byte>& memory, ElementType type) {
  Buffer buffer{memory.data(), memory.size() / bytes_of(type), type};
  buffer.on_device = true;
  return buffer;
}

using Counts = std::array<FakeDevice::Counts, 2>;

// Two ranks as threads, each with a staged loopback transport.
Counts run_two_ranks(const std::function<void(Transport&)>& body) {
  Counts counts{};
  LoopbackOptions options;
  options.time_out = std::chrono::seconds(20);
  LoopbackHub hub(2, options);
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto transport = make_staged_transport(
          hub.transport(rank),
          std::make_unique<FakeDevice>(counts[static_cast<std::size_t>(rank)]));
      body(*transport);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return counts;
}

TEST_CASE("a message goes from device to device through host memory") {
  std::vector<std::byte> received(12);
  const Counts counts = run_two_ranks([&](Transport& transport) {
    if (transport.rank() == 0) {
      std::vector<std::byte> memory = on_fake_device<float>({1.0F, 2.0F, 3.0F});
      transport.send(1, 5, device_buffer(memory, ElementType::kFloat32))->wait();
    } else {
      transport.receive(0, 5, device_buffer(received, ElementType::kFloat32))->wait();
    }
  });
  CHECK(received == on_fake_device<float>({1.0F, 2.0F, 3.0F}));
  for (const FakeDevice::Counts& rank : counts) {
    CHECK(rank.copies == 1);
    CHECK(rank.allocated == 1);
    CHECK(rank.released == 1);
  }
}

TEST_CASE("collectives are staged both ways") {
  std::array<std::vector<std::byte>, 2> memory;
  run_two_ranks([&](Transport& transport) {
    auto& mine = memory[static_cast<std::size_t>(transport.rank())];
    const float first = transport.rank() == 0 ? 1.0F : 10.0F;
    mine = on_fake_device<float>({first, 2.0F});
    const CommunicatorId group = transport.form_group("both", {0, 1});
    transport.all_reduce(group, device_buffer(mine, ElementType::kFloat32))->wait();
  });
  CHECK(memory[0] == on_fake_device<float>({11.0F, 4.0F}));
  CHECK(memory[1] == memory[0]);
}

TEST_CASE("a buffer in host memory passes untouched") {
  std::vector<std::byte> received(4);
  const Counts counts = run_two_ranks([&](Transport& transport) {
    std::vector<std::byte> memory(4, std::byte{42});
    if (transport.rank() == 0) {
      transport.send(1, 1, {memory.data(), memory.size()})->wait();
    } else {
      transport.receive(0, 1, {received.data(), received.size()})->wait();
    }
  });
  CHECK(received == std::vector<std::byte>(4, std::byte{42}));
  CHECK(counts[0].allocated + counts[1].allocated == 0);
}

TEST_CASE("host memory is used again, but not while it is still being copied") {
  const Counts counts = run_two_ranks([&](Transport& transport) {
    std::vector<std::byte> memory(100);
    const Buffer buffer = device_buffer(memory, ElementType::kByte);
    for (MessageTag tag = 0; tag < 10; ++tag) {
      if (transport.rank() == 0) {
        transport.send(1, tag, buffer)->wait();
      } else {
        transport.receive(0, tag, buffer)->wait();
      }
    }
  });
  CHECK(counts[0].allocated == 1);  // of a send it is free at once
  // A copy to the device ends only when it is asked the second time: by then one block more is out.
  CHECK(counts[1].allocated == 2);
  CHECK(counts[1].released == 2);
}

TEST_CASE("polling ends a transfer as waiting does") {
  std::vector<std::byte> received(1);
  run_two_ranks([&](Transport& transport) {
    std::vector<std::byte> memory = on_fake_device<char>({'x'});
    const bool sends = transport.rank() == 0;
    const auto transfer =
        sends ? transport.send(1, 0, device_buffer(memory, ElementType::kByte))
              : transport.receive(0, 0, device_buffer(received, ElementType::kByte));
    while (!transfer->done()) std::this_thread::yield();
  });
  CHECK(received == on_fake_device<char>({'x'}));
}

TEST_CASE("an abort ends what is under way") {
  LoopbackHub hub(2, {});
  FakeDevice::Counts counts;
  const auto transport =
      make_staged_transport(hub.transport(0), std::make_unique<FakeDevice>(counts));
  std::vector<std::byte> memory(8);
  const auto transfer = transport->receive(1, 0, device_buffer(memory, ElementType::kByte));
  transport->abort("the test says so");
  CHECK_THROWS_AS(transfer->wait(), TransportFailure);
}

}  // namespace
}  // namespace penstock
