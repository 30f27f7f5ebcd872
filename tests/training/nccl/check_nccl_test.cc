#include "training/nccl/check_nccl.h"

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "training/transport.h"

namespace penstock {
namespace {

TEST_CASE("success and work in progress pass") {
  CHECK_NOTHROW(check_nccl(ncclSuccess, "send"));
  CHECK_NOTHROW(check_nccl(ncclInProgress, "send"));
}

TEST_CASE("what a peer did is a failure of the transport that names it") {
  try {
    check_nccl(ncclRemoteError, "send 8 bytes", 2);
    FAIL("expected a failure");
  } catch (const TransportFailure& failure) {
    CHECK(failure.peer() == 2);
    CHECK(std::string(failure.what()).find("NCCL: cannot send 8 bytes (rank 2): remote") == 0);
  }
}

TEST_CASE("what we did wrong is our bug") {
  try {
    check_nccl(ncclInvalidArgument, "send");
    FAIL("expected an error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInternal);
  }
}

}  // namespace
}  // namespace penstock
