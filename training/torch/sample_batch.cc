#include "training/torch/sample_batch.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <ATen/ATen.h>

#include "training/torch/element_types.h"

namespace penstock {
namespace {

at::ScalarType type_of(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return at::kByte;
    case PixelType::kFloat16:
      return at::kHalf;
    case PixelType::kFloat32:
      return at::kFloat;
    case PixelType::kFloat64:
      return at::kDouble;
  }
  return at::kFloat;
}

// One row per sample, of `length` or as long as the longest, filled up with `rest`.
at::Tensor ids_of(const std::vector<TokenSample>& samples,
                  std::vector<std::int64_t> TokenSample::*which, std::int64_t length,
                  std::int64_t rest) {
  for (const TokenSample& sample : samples) {
    length = std::max(length, static_cast<std::int64_t>((sample.*which).size()));
  }
  at::Tensor ids = at::full({static_cast<std::int64_t>(samples.size()), length}, rest, at::kLong);
  std::int64_t* row = ids.data_ptr<std::int64_t>();
  for (const TokenSample& sample : samples) {
    std::ranges::copy(sample.*which, row);
    row += length;
  }
  return ids;
}

at::Tensor images_of(const std::vector<TokenSample>& samples, const ModelDescription& model,
                     at::Device device) {
  const PixelType type = samples.front().image.type;
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(samples.size())};
  sizes.insert(sizes.end(), model.image.begin(), model.image.end());
  const at::Tensor pixels = at::empty(sizes, type_of(type));
  auto* at = static_cast<std::byte*>(pixels.data_ptr());
  for (const TokenSample& sample : samples) {
    std::memcpy(at, sample.image.bytes.data(), sample.image.bytes.size());
    at += sample.image.bytes.size();
  }
  const at::Tensor there = pixels.to(device);
  const at::ScalarType computed = compute_type(model.precision);
  if (type != PixelType::kUint8) return there.to(computed);
  return there.to(master_type(model.precision)).div_(255).to(computed);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> batch_of(const std::vector<TokenSample>& samples,
                                           const ModelDescription& model,
                                           const MicroBatchShape& shape, at::Device device) {
  const int target_length = shape.decoder_tokens > 0 ? shape.decoder_tokens : shape.tokens;
  const bool takes_images = !model.image.empty();
  const at::Tensor targets =
      ids_of(samples, &TokenSample::targets, takes_images ? 1 : target_length, kNoTarget)
          .to(device);
  if (takes_images) return {images_of(samples, model, device), targets.squeeze(1)};
  return {ids_of(samples, &TokenSample::inputs, shape.tokens, kPadding).to(device), targets};
}

}  // namespace penstock
