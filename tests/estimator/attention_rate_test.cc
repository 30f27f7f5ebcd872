// Points of the published curves (TFLOP/s on an H100 of 989), times 0.9 for what a kernel loses
// inside a step.
#include "estimator/attention_rate.h"

#include <doctest/doctest.h>

namespace penstock {
namespace {

DeviceSheet of(const char* generation) {
  DeviceSheet device;
  device.generation = generation;
  return device;
}
double share(AttentionKernel kernel, const char* generation, const AttentionKey& key) {
  return attention_share(kernel, of(generation), key);
}

TEST_CASE("attention's share of the peak follows the published curve, constant beyond its ends") {
  const auto at = [](int length, bool backward = false) {
    return share(AttentionKernel::kFlash3, "hopper", {length, 128, backward});
  };
  CHECK(at(512) == doctest::Approx(292.0 / 989.0 * 0.9));
  CHECK(at(100) == at(512));
  CHECK(at(2048) == doctest::Approx(521.0 / 989.0 * 0.9));
  CHECK(at(3072) == doctest::Approx((521.0 + 579.0) / 2.0 / 989.0 * 0.9));
  CHECK(at(16384) == doctest::Approx(616.0 / 989.0 * 0.9));
  CHECK(at(131072) == at(16384));
  CHECK(at(16384, true) == doctest::Approx(561.0 / 989.0 * 0.9));
}

TEST_CASE("narrow heads take less of it") {
  const auto at = [](int width) {
    return share(AttentionKernel::kCudnn, "hopper", {4096, width, false});
  };
  const double wide = 518.0 / 989.0 * 0.9;
  CHECK(at(256) == doctest::Approx(wide));
  CHECK(at(128) == doctest::Approx(wide));
  CHECK(at(96) == doctest::Approx(wide * 0.95));
  CHECK(at(64) == doctest::Approx(wide * 0.85));
  CHECK(at(32) == doctest::Approx(wide * 0.6));
}

TEST_CASE("FlashAttention-2 reaches 230 of 312 on Ampere where it reaches 370 of 989 on Hopper") {
  const AttentionKey key{1024, 128, true};
  CHECK(share(AttentionKernel::kFlash2, "hopper", key) == doctest::Approx(260.0 / 989.0 * 0.9));
  const double ampere = 260.0 / 370.0 * 230.0 / 312.0 * 0.9;
  CHECK(share(AttentionKernel::kFlash2, "ampere", key) == doctest::Approx(ampere));
  CHECK(share(AttentionKernel::kFlash2, "ada", key) == doctest::Approx(ampere));
}

TEST_CASE("the first FlashAttention and eager kernels have one share at every length") {
  for (const int length : {512, 65536}) {
    CHECK(share(AttentionKernel::kFlash1, "ampere", {length, 128, false}) == 0.34);
    CHECK(share(AttentionKernel::kFlash1, "hopper", {length, 128, false}) == 0.185);
    CHECK(share(AttentionKernel::kEager, "hopper", {length, 64, false}) == 0.6);
  }
}

TEST_CASE("what trainers use goes by generation and by the width of numbers") {
  CHECK(default_attention(of("hopper"), Arithmetic::kBFloat16) == AttentionKernel::kCudnn);
  CHECK(default_attention(of("blackwell"), Arithmetic::kFloat16) == AttentionKernel::kCudnn);
  CHECK(default_attention(of("ampere"), Arithmetic::kBFloat16) == AttentionKernel::kFlash2);
  CHECK(default_attention(of("volta"), Arithmetic::kFloat16) == AttentionKernel::kEager);
  CHECK(default_attention(of("hopper"), Arithmetic::kFloat32) == AttentionKernel::kEager);
}

}  // namespace
}  // namespace penstock
