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

at::Tensor ids_of(const std::vector<TokenSample>& samples,
                  std::vector<std::int64_t> TokenSample::*which) {
  const auto length = static_cast<std::int64_t>((samples.front().*which).size());
  at::Tensor ids = at::empty({static_cast<std::int64_t>(samples.size()), length}, at::kLong);
  std::int64_t* row = ids.data_ptr<std::int64_t>();
  for (const TokenSample& sample : samples) row = std::ranges::copy(sample.*which, row).out;
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
                                           const ModelDescription& model, at::Device device) {
  const at::Tensor targets = ids_of(samples, &TokenSample::targets).to(device);
  if (model.image.empty()) return {ids_of(samples, &TokenSample::inputs).to(device), targets};
  return {images_of(samples, model, device), targets.squeeze(1)};
}

}  // namespace penstock
