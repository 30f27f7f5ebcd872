#include "profiler/gpu_reserve.h"

namespace penstock {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// LibTorch's default on Hopper, per handle and stream, CUBLAS_WORKSPACE_CONFIG=:4096:8; less on
// other GPUs.
constexpr std::int64_t kCublas = 32 * kMiB;

// NCCL_BUFFSIZE per channel.
constexpr std::int64_t kNcclBuffer = 4 * kMiB;
// A pipeline rank has up to four directions, each with as many channels as its CTAs
// (training/nccl/nccl_transport.h), and three groups: of the job, of the holders of its weights, of
// a tie. A ring keeps a buffer on both sides.
constexpr std::int64_t kDirections = 4, kChannelsOfDirection = 8;
constexpr std::int64_t kGroups = 3, kChannelsOfGroup = 16;

}  // namespace

std::vector<ReservePart> gpu_reserve(Bytes taken, int gpus) {
  std::vector<ReservePart> parts{
      {"CUDA context", taken, true, ""},
      {"cuBLAS workspace", {kCublas}, false, "LibTorch's default on Hopper, 8 times 4 MiB"}};
  if (gpus < 2) return parts;
  constexpr std::int64_t kNccl =
      kNcclBuffer * (kDirections * kChannelsOfDirection + 2 * kGroups * kChannelsOfGroup);
  parts.push_back({"NCCL buffers",
                   {kNccl},
                   false,
                   "NCCL_BUFFSIZE of 4 MiB per channel: 4 directions of 8, 3 groups of 16 on two "
                   "sides"});
  return parts;
}

Bytes sum_of(const std::vector<ReservePart>& parts) {
  std::int64_t sum = 0;
  for (const ReservePart& part : parts) sum += part.bytes.count;
  return {sum};
}

std::string in_words(const std::vector<ReservePart>& parts) {
  std::string text;
  for (const ReservePart& part : parts) {
    text += (text.empty() ? "" : ", ") + part.name + " " + to_text(part.bytes) +
            (part.is_measured ? " (measured)" : " (assumed: " + part.source + ")");
  }
  return text;
}

}  // namespace penstock
