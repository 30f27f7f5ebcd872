#include "profiler/cuda/cupti_tracer.h"

#include <cmath>
#include <functional>
#include <thread>

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "core/values/error.h"
#include "tests/gpu/device_array.h"
#include "tests/gpu/kernels.h"
#include "training/cuda/check_cuda.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

constexpr ActivityTag kForward = activity_tag(0, ActivityPhase::kForward);
constexpr ActivityTag kBackward = activity_tag(1, ActivityPhase::kInputGradient);

// Since a process has one tracer, all that is asked of it is in one test.
TEST_CASE("what runs on the device is attributed to the scope that launched it") {
  const auto tracer = make_cupti_tracer(0);
  CHECK_THROWS_AS((void)make_cupti_tracer(0), Error);  // one per process
  const CudaStream stream;
  const testing::DeviceArray<float> array(std::vector<float>(1 << 20, 0.0F));

  for (int period = 0; period < 3; ++period) {
    CAPTURE(period);
    tracer->start();
    for (int repeat = 0; repeat < 10; ++repeat) {
      tracer->open_scope(kForward);
      testing::launch_add(stream.get(), array.data(), 1 << 20, 1.0F);
      testing::launch_busy(stream.get(), 200'000);
      check_cuda(cudaMemsetAsync(array.data(), 0, 4096, stream.get()), "set");
      tracer->close_scope();
      tracer->open_scope(kBackward);
      std::thread engine([&] { testing::launch_busy(stream.get(), 100'000); });
      engine.join();
      tracer->close_scope();
    }
    const ActivityRecording recording = tracer->stop();
    const Attribution found = attribute(recording);
    CHECK(recording.dropped == 0);
    CHECK(found.unattributed.empty());
    CHECK(found.unattributed_time == Duration{});
    CHECK(why_void(recording, found).value_or("") == "");
    const std::vector<TagActivity> tags = by_tag(recording, found);
    REQUIRE(tags.size() == 2);
    CHECK(tags[0].repeats == 10);
    CHECK(tags[0].kernels == 2);
    CHECK(tags[0].memsets == 1);
    CHECK(tags[0].set == Bytes{4096});
    CHECK(tags[0].busy.median >= Duration{200'000});
    CHECK(tags[1].kernels == 1);
    CHECK(tags[1].busy.median >= Duration{100'000});
    MESSAGE("external ids: " << found.confirmed << " confirmed, " << found.without_external_id
                             << " without");
    MESSAGE("tracer overhead " << found.tracer_overhead.count() << " ns");
  }
}

TEST_CASE("the time of events agrees with the span of CUPTI") {
  const auto tracer = make_cupti_tracer(0);
  const CudaStream stream;
  CudaEvent begin(CudaEvent::Timing::kOn), end(CudaEvent::Timing::kOn);
  testing::launch_busy(stream.get(), 1'000'000);
  tracer->start();
  tracer->open_scope(kForward);
  begin.record(stream.get());
  for (int i = 0; i < 20; ++i) testing::launch_busy(stream.get(), 1'000'000);
  end.record(stream.get());
  tracer->close_scope();
  const ActivityRecording recording = tracer->stop();
  const Attribution found = attribute(recording);
  REQUIRE(found.scopes.size() == 1);
  const double by_events = static_cast<double>(end.since(begin).count());
  const double by_cupti = static_cast<double>(found.scopes[0].span.count());
  CHECK(std::abs(by_events - by_cupti) < 0.05 * by_events);
}

}  // namespace
}  // namespace penstock
