#include "profiler/gpu_reserve.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

TEST_CASE("a GPU alone keeps a context and cuBLAS's workspace free") {
  const auto parts = gpu_reserve({500 * kMiB}, 1);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].is_measured);
  CHECK_FALSE(parts[1].is_measured);
  CHECK(sum_of(parts).count == 532 * kMiB);
}

TEST_CASE("among several, buffers of NCCL too: 4 directions of 8 and 3 groups of 2 x 16 channels") {
  const auto parts = gpu_reserve({500 * kMiB}, 2);
  REQUIRE(parts.size() == 3);
  CHECK(parts[2].bytes.count == 4 * kMiB * (4 * 8 + 3 * 2 * 16));  // 512 MiB
  CHECK(sum_of(parts).count == (500 + 32 + 512) * kMiB);
}

TEST_CASE("every part says where it comes from") {
  CHECK(in_words(gpu_reserve({500 * kMiB}, 1)) ==
        "CUDA context 500.0 MiB (measured), cuBLAS workspace 32.0 MiB (assumed: LibTorch's default "
        "on "
        "Hopper, 8 times 4 MiB)");
  for (const ReservePart& part : gpu_reserve({}, 8)) {
    CHECK(part.is_measured == part.source.empty());
  }
}

}  // namespace
}  // namespace penstock
