// Element types of a Precision, and tensors as the Buffers that transports move.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

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

// As PyTorch names types; none for those that no section hands on.
struct NamedType {
  std::string_view name;
  at::ScalarType type;
};
inline constexpr std::array kNamedTypes{
    NamedType{"float32", at::kFloat}, NamedType{"float64", at::kDouble},
    NamedType{"float16", at::kHalf},  NamedType{"bfloat16", at::kBFloat16},
    NamedType{"int64", at::kLong},    NamedType{"int32", at::kInt},
    NamedType{"int16", at::kShort},   NamedType{"int8", at::kChar},
    NamedType{"uint8", at::kByte},    NamedType{"bool", at::kBool}};
inline std::string name_of_type(at::ScalarType type) {
  for (const NamedType& each : kNamedTypes) {
    if (each.type == type) return std::string(each.name);
  }
  return c10::toString(type);
}
inline std::optional<at::ScalarType> type_named(std::string_view name) {
  for (const NamedType& each : kNamedTypes) {
    if (each.name == name) return each.type;
  }
  return std::nullopt;
}

// Of a contiguous tensor.
inline Buffer buffer_of(const at::Tensor& tensor, const Device& device) {
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel()),
          element_type(tensor.scalar_type()), device.is_gpu(), device.stream()};
}

}  // namespace penstock
