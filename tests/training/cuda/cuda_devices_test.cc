#include "training/cuda/cuda_devices.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "training/cuda/cuda_copies.h"
#include "training/cuda/cuda_device.h"

namespace penstock {
namespace {

TEST_CASE("a machine has GPUs, or it is said what is missing") {
  const std::string missing = why_no_cuda();
  if (missing.empty()) {
    CHECK_FALSE(cuda_devices().empty());
    CHECK_THROWS_AS((void)cuda_device_at(1'000'000), Error);
    return;
  }
  CHECK_THROWS_WITH_AS((void)cuda_devices(), missing.c_str(), Error);
  CHECK_THROWS_WITH_AS((void)cuda_device_at(0), missing.c_str(), Error);
  CHECK_THROWS_WITH_AS((void)make_cuda_device(0, nullptr), missing.c_str(), Error);
  CHECK_THROWS_WITH_AS((void)make_cuda_copies(0), missing.c_str(), Error);
  CHECK(missing.find("--device cpu") != std::string::npos);
}

TEST_CASE("without a driver the driver is what is missing") {
  if (!cuda_driver_version().empty()) return;
  CHECK(
      why_no_cuda() ==
      "there is no NVIDIA driver on this machine (libcuda.so.1 was not found); install one, or use "
      "--device cpu");
}

TEST_CASE("the runtime that was linked says its version without a driver") {
  CHECK(cuda_runtime_version().substr(0, 3) == "13.");
}

}  // namespace
}  // namespace penstock
