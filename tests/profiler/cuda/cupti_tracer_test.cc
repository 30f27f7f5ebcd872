#include "profiler/cuda/cupti_tracer.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "training/cuda/cuda_devices.h"

namespace penstock {
namespace {

TEST_CASE("without a driver there is no tracer, and it says what is missing") {
  if (!cuda_driver_version().empty()) return;  // tests/gpu does the rest
  CHECK_THROWS_WITH_AS((void)make_cupti_tracer(0), why_no_cuda().c_str(), Error);
  // And again: a failure leaves nothing behind.
  CHECK_THROWS_WITH_AS((void)make_cupti_tracer(0), why_no_cuda().c_str(), Error);
}

TEST_CASE("the library says its version without a driver") {
  CHECK(cupti_version().substr(0, 3) == "13.");
}

}  // namespace
}  // namespace penstock
