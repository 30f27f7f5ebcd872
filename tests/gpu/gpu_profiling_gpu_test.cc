#include "cli/parts/gpu_profiling.h"

#include <memory>

#include <doctest/doctest.h>

#include "tests/runtime_bridge/memory_store.h"
#include "training/cuda/cuda_devices.h"

namespace penstock {
namespace {

TEST_CASE("what the verb asks of a GPU is there") {
  const auto gpus = make_gpu_profiling("cuda", 0);
  REQUIRE(gpus != nullptr);
  CHECK(gpus->gpus() == static_cast<int>(cuda_devices().size()));
  CHECK(gpus->memory() == cuda_devices()[0].memory);
  CHECK(gpus->taken_memory() > Bytes{});
  CHECK(gpus->taken_memory() < gpus->memory());
  CHECK(make_gpu_profiling("cpu", 0) == nullptr);
}

TEST_CASE("messages between GPUs come from a pool on the device") {
  const auto gpus = make_gpu_profiling("cuda", 0);
  const LinkPool pool = gpus->pool({1 << 20});
  CHECK(pool.buffer.on_device);
  CHECK(pool.buffer.elements == 1 << 18);
  LaunchEnvironment place;
  const auto transport = gpus->transport(
      place, std::make_unique<tests::MemoryStore>(std::make_shared<tests::SharedMemory>()));
  CHECK(transport->size() == 1);
  const CommunicatorId alone = transport->form_group("alone", {0});
  transport->all_reduce(alone, pool.buffer)->wait();
}

TEST_CASE("copies of the verb are idle ones, unless load is asked for") {
  const auto gpus = make_gpu_profiling("cuda", 0);
  ProfilingProgress silent;
  const std::vector<CopySample> samples = gpus->copies({1 << 16}, false, Duration{}, silent);
  CHECK(samples.size() == 6 * 7);  // 1 to 64 KiB
  CHECK(memory_bandwidth_of(samples).value > 0.0);
}

}  // namespace
}  // namespace penstock
