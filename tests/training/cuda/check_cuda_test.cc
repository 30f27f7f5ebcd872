#include "training/cuda/check_cuda.h"

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

ErrorKind kind_of(cudaError_t code) {
  try {
    check_cuda(code, "do it");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("CUDA: cannot do it: ") == 0);
    return error.kind();
  }
  FAIL("expected an error");
  return ErrorKind::kInternal;
}

TEST_CASE("what the machine lacks is missing, the rest is our bug") {
  CHECK_NOTHROW(check_cuda(cudaSuccess, "do it"));
  CHECK(kind_of(cudaErrorNoDevice) == ErrorKind::kMissingResource);
  CHECK(kind_of(cudaErrorInsufficientDriver) == ErrorKind::kMissingResource);
  CHECK(kind_of(cudaErrorMemoryAllocation) == ErrorKind::kMissingResource);
  CHECK(kind_of(cudaErrorInvalidValue) == ErrorKind::kInternal);
  CHECK(kind_of(cudaErrorIllegalAddress) == ErrorKind::kInternal);
}

TEST_CASE("the message holds the name of the code") {
  CHECK_THROWS_WITH_AS(check_cuda(cudaErrorInvalidValue, "copy 3 bytes"),
                       "CUDA: cannot copy 3 bytes: invalid argument (cudaErrorInvalidValue)",
                       Error);
}

}  // namespace
}  // namespace penstock
