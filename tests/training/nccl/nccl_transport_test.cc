#include "training/nccl/nccl_transport.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "training/cuda/cuda_devices.h"
#include "training/nccl/nccl_operation.h"

namespace penstock {
namespace {

TEST_CASE("without a GPU there is no transport, and it says what is missing") {
  const std::string missing = why_no_cuda();
  if (missing.empty()) return;  // tests/gpu does the rest
  CHECK_THROWS_WITH_AS((void)make_nccl_transport({}, nullptr), missing.c_str(), Error);
}

TEST_CASE("every element type has its type in NCCL") {
  CHECK(nccl_type_of(ElementType::kByte) == ncclUint8);
  CHECK(nccl_type_of(ElementType::kInt64) == ncclInt64);
  CHECK(nccl_type_of(ElementType::kFloat16) == ncclFloat16);
  CHECK(nccl_type_of(ElementType::kBFloat16) == ncclBfloat16);
  CHECK(nccl_type_of(ElementType::kFloat32) == ncclFloat32);
  CHECK(nccl_type_of(ElementType::kFloat64) == ncclFloat64);
}

}  // namespace
}  // namespace penstock
