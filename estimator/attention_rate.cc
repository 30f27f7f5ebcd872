// Published curves of kernels over the sequence length are read off and scaled to the device by its
// peak, then by what a kernel loses inside a training step. Sources stand beside each table; what
// could not be found anywhere is marked as assumed.
#include "estimator/attention_rate.h"

#include <array>
#include <bit>
#include <cstdint>

namespace penstock {
namespace {

struct KernelName {
  AttentionKernel kernel;
  std::string_view name;
};
constexpr std::array kKernels{
    KernelName{AttentionKernel::kFlash2, "flash2"}, KernelName{AttentionKernel::kFlash3, "flash3"},
    KernelName{AttentionKernel::kCudnn, "cudnn"}, KernelName{AttentionKernel::kEager, "eager"},
    KernelName{AttentionKernel::kFlash1, "flash1"}};

// TFLOP/s on H100 at 512, 1k, 2k, 4k, 8k and 16k tokens, heads 128 wide, causal, operations of the
// visible half counted: figures of the FlashAttention-3 paper (arXiv 2407.08608).
using Curve = std::array<double, 6>;
constexpr int kShortest = 512;
constexpr double kPeakOfCurves = 989.0;
struct Curves {
  Curve forward, backward;
};
constexpr Curves kFlash2{{191, 260, 298, 319, 333, 335}, {214, 260, 291, 310, 318, 322}};
constexpr Curves kFlash3{{292, 423, 521, 579, 602, 616}, {316, 424, 501, 542, 559, 561}};
constexpr Curves kCudnn{{315, 410, 484, 518, 529, 539}, {305, 408, 465, 499, 518, 516}};

// FlashAttention-2 was written for Ampere: up to 230 of 312 TFLOP/s there where it reaches 370 of
// 989 on H100 (arXiv 2307.08691, 2407.08608). Other devices whose tensor cores work as Ampere's do
// are given the same share: assumed.
constexpr double kFlash2OnAmpere = (230.0 / 312.0) / (370.0 / kPeakOfCurves);
// The charts time kernels alone. Inside a step they run between others that have filled caches and
// heated the chip: what the steps of data/efficiency leave for them.
constexpr double kInsideTraining = 0.9;
// The first FlashAttention, in Triton: what published steps of 512 to 65,536 tokens leave for it
// (docs/estimates.md), as good as constant over the length.
constexpr double kFlash1OnAmpere = 0.34, kFlash1 = 0.185;
// Two products as deep as a head is wide, whose results go through memory: assumed.
constexpr double kEagerShare = 0.6;

bool like_ampere(const DeviceSheet& device) {
  return device.generation.starts_with("ampere") || device.generation == "ada";
}

// Linear between the points, whose lengths double; constant beyond them.
double at(const Curve& curve, int length) {
  if (length <= kShortest) return curve.front();
  const auto octave =
      static_cast<int>(std::bit_width(static_cast<std::uint32_t>(length / kShortest))) - 1;
  const auto index = static_cast<std::size_t>(octave);
  if (index + 1 >= curve.size()) return curve.back();
  const double start = static_cast<double>(kShortest) * static_cast<double>(1U << index);
  return curve[index] + (curve[index + 1] - curve[index]) * (length - start) / start;
}

// Narrow heads leave less work per score (the same charts, heads 64 wide); between: assumed.
double width_factor(int head_width) {
  if (head_width >= 128) return 1.0;
  return head_width >= 96 ? 0.95 : head_width >= 64 ? 0.85 : 0.6;
}

const Curves& curves_of(AttentionKernel kernel) {
  if (kernel == AttentionKernel::kFlash3) return kFlash3;
  return kernel == AttentionKernel::kCudnn ? kCudnn : kFlash2;
}

}  // namespace

std::string_view name_of(AttentionKernel kernel) {
  return kKernels[static_cast<std::size_t>(kernel)].name;
}

std::optional<AttentionKernel> attention_named(std::string_view name) {
  for (const KernelName& known : kKernels) {
    if (known.name == name) return known.kernel;
  }
  return std::nullopt;
}

AttentionKernel default_attention(const DeviceSheet& device, Arithmetic arithmetic) {
  const bool half = arithmetic == Arithmetic::kBFloat16 || arithmetic == Arithmetic::kFloat16;
  if (!half || device.generation == "volta") return AttentionKernel::kEager;
  const bool newer = device.generation == "hopper" || device.generation == "blackwell";
  return newer ? AttentionKernel::kCudnn : AttentionKernel::kFlash2;
}

AttentionKind kind_of(AttentionKernel kernel) {
  return kernel == AttentionKernel::kEager ? AttentionKind::kKept : AttentionKind::kFused;
}

double attention_share(AttentionKernel kernel, const DeviceSheet& device, const AttentionKey& key) {
  if (kernel == AttentionKernel::kEager) return kEagerShare;
  if (kernel == AttentionKernel::kFlash1) {
    return (like_ampere(device) ? kFlash1OnAmpere : kFlash1) * width_factor(key.head_width);
  }
  const Curves& curves = curves_of(kernel);
  const double alone =
      at(key.backward ? curves.backward : curves.forward, key.sequence_length) / kPeakOfCurves;
  const double here =
      kernel == AttentionKernel::kFlash2 && like_ampere(device) ? alone * kFlash2OnAmpere : alone;
  return here * width_factor(key.head_width) * kInsideTraining;
}

}  // namespace penstock
