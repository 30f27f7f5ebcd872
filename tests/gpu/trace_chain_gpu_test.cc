#include "profiler/trace_chain.h"

#include <algorithm>
#include <thread>

#include <doctest/doctest.h>

#include "profiler/cuda/cupti_tracer.h"
#include "tests/gpu/device_array.h"
#include "tests/gpu/kernels.h"
#include "tests/profiler/fake_work.h"
#include "training/cuda/cuda_device.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

// Stands for LibTorch's.
class OneStream : public CudaAllocator {
 public:
  [[nodiscard]] void* stream() const override { return stream_.get(); }
  Bytes held() override { return {}; }
  Bytes peak() override { return {}; }
  void reset_peak() override {}

 private:
  CudaStream stream_;
};

// Kernels in the place of sections: F runs 200 us, B 300 us from a thread of its own, as LibTorch's
// backward does; a step begins with a memset and ends with a kernel per optimizer step.
class KernelWork : public tests::FakeWork {
 public:
  KernelWork(tests::FakeDevice& numbers, Device& device, const testing::DeviceArray<float>& memory)
      : FakeWork(numbers, tests::four_stages(), false), device_(device), memory_(memory) {}

  bool strays = false;  // something runs between two actions

  void begin_step(std::int64_t) override {
    check_cuda(cudaMemsetAsync(memory_.data(), 0, 4096, static_cast<cudaStream_t>(stream())),
               "clear");
  }
  void compute(ActionKind kind, int, int) override {
    if (kind == ActionKind::kForward) return testing::launch_busy(stream(), 200'000);
    std::thread engine([this] { testing::launch_busy(stream(), 300'000); });
    engine.join();
  }
  void hand_on_activation(int, int) override {
    if (strays) testing::launch_busy(stream(), 50'000);
  }
  void hand_on_gradient(int, int) override {}
  NormShare norm_share() override {
    testing::launch_busy(stream(), 10'000);
    device_.synchronize();
    return {};
  }
  void optimize(int) override { testing::launch_busy(stream(), 20'000); }

 private:
  [[nodiscard]] void* stream() const { return device_.stream(); }
  Device& device_;
  const testing::DeviceArray<float>& memory_;
};

ChainToMeasure chain_of_four() {
  ChainToMeasure chain;
  chain.sections = {0, 1, 2, 3};
  chain.types = {"embedding", "block", "block", "head"};
  chain.splits = false;
  return chain;
}

TEST_CASE("a chain of kernels is traced without anything left over, and a stray one voids it") {
  const auto tracer = make_cupti_tracer(0);
  const auto device = make_cuda_device(0, std::make_unique<OneStream>());
  const testing::DeviceArray<float> memory(std::vector<float>(1024, 0.0F));
  tests::FakeDevice numbers;
  KernelWork work(numbers, *device, memory);
  const ChainTrace trace = trace_chain(chain_of_four(), work, *device, *tracer);
  CHECK(trace.samples.why_void == "");
  CHECK(trace.samples.unattributed == Duration{});
  const auto block = std::ranges::find(
      trace.samples.types, activity_tag(1, ActivityPhase::kFusedBackward), &TagActivity::tag);
  REQUIRE(block != trace.samples.types.end());
  CHECK(block->repeats == 20);  // ten steps, two blocks
  CHECK(block->kernels == 1);
  CHECK(block->busy.median >= Duration{300'000});
  // Four F and four B, the norm and four optimizer steps: 2.09 ms at least.
  CHECK(trace.samples.untraced_step.median >= Duration{2'090'000});
  MESSAGE("tracing overhead " << tracing_overhead(trace.samples));
  MESSAGE(trace.samples.confirmed << " confirmed, " << trace.samples.without_external_id
                                  << " without an external id");

  work.strays = true;
  const ChainTrace stray = trace_chain(chain_of_four(), work, *device, *tracer);
  CHECK(stray.samples.why_void.find("launched outside all scopes") != std::string::npos);
  CHECK(stray.samples.unattributed >= Duration{3 * 10 * 50'000});
}

}  // namespace
}  // namespace penstock
