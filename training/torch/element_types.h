// Element types of a Precision, and tensors as the Buffers that transports move.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/buffer.h"
#include "training/device.h"

namespace penstock {

// Of weights, activations and what stages hand to each other.
inline at::ScalarType compute_type(Precision precision) {
  switch (precision) {
    case Precision::kBFloat16:
      return at::kBFloat16;
    case Precision::kFloat16:
      return at::kHalf;
    case Precision::kFloat64:
      return at::kDouble;
    case Precision::kFloat32:
      break;
  }
  return at::kFloat;
}
// Of gradients, moments and the weights that the optimizer steps.
inline at::ScalarType master_type(Precision precision) {
  return precision == Precision::kFloat64 ? at::kDouble : at::kFloat;
}
inline bool has_master_weights(Precision precision) {
  return compute_type(precision) != master_type(precision);
}

inline ElementType element_type(at::ScalarType type) {
  if (type == at::kBFloat16) return ElementType::kBFloat16;
  if (type == at::kHalf) return ElementType::kFloat16;
  if (type == at::kDouble) return ElementType::kFloat64;
  if (type == at::kLong) return ElementType::kInt64;
  if (type == at::kByte) return ElementType::kByte;
  return ElementType::kFloat32;
}

// Of a contiguous tensor.
inline Buffer buffer_of(const at::Tensor& tensor, const Device& device) {
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel()),
          element_type(tensor.scalar_type()), device.is_gpu(), device.stream()};
}

}  // namespace penstock
