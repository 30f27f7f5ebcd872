#include "training/torch/cpu_device.h"

#include <optional>
#include <thread>

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <doctest/doctest.h>

namespace penstock {
namespace {

TEST_CASE("a CPU device counts the tensors of the thread that made it, to the byte") {
  c10::Allocator* const before = c10::GetCPUAllocator();
  {
    const auto device = make_cpu_device();
    CHECK(device->name() == "cpu");
    at::Tensor kept = at::zeros({1000}, at::kFloat);
    CHECK(device->held_memory() == Bytes{4000});
    { const at::Tensor passing = at::zeros({500}, at::kDouble); }
    CHECK(device->held_memory() == Bytes{4000});
    CHECK(device->peak_memory() == Bytes{8000});
    device->reset_peak_memory();
    CHECK(device->peak_memory() == Bytes{4000});

    std::thread([&] {
      const at::Tensor of_another_thread = at::zeros({1000}, at::kFloat);
      CHECK(device->held_memory() == Bytes{4000});
      kept.reset();  // freed elsewhere, but it was ours
      CHECK(device->held_memory() == Bytes{0});
    }).join();
  }
  CHECK(c10::GetCPUAllocator() == before);
}

TEST_CASE("memory that is only reserved is not counted, nor when it is freed") {
  const auto device = make_cpu_device();
  const at::Tensor counted = at::zeros({1000}, at::kFloat);
  {
    at::Tensor uncounted;
    {
      const UncountedMemory reserved;
      uncounted = at::zeros({500}, at::kFloat);
    }
    CHECK(device->held_memory() == Bytes{4000});
    const at::Tensor after = at::zeros({10}, at::kFloat);
    CHECK(device->held_memory() == Bytes{4040});
  }
  CHECK(device->held_memory() == Bytes{4000});
  CHECK(device->peak_memory() == Bytes{4040});
}

TEST_CASE("two ranks in one process count apart; tensors may outlive their device") {
  std::optional<at::Tensor> left;
  const auto count = [&](std::int64_t elements) {
    const auto device = make_cpu_device();
    const at::Tensor mine = at::zeros({elements}, at::kFloat);
    CHECK(device->held_memory() == Bytes{4 * elements});
    left = mine;
  };
  std::thread first(count, 10);
  first.join();
  std::thread second(count, 20);
  second.join();
  CHECK(left->numel() == 20);
}

}  // namespace
}  // namespace penstock
