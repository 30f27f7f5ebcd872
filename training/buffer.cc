#include "training/buffer.h"

namespace penstock {

std::string_view name_of(ElementType type) {
  switch (type) {
    case ElementType::kByte:
      return "byte";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kBFloat16:
      return "bfloat16";
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kFloat64:
      return "float64";
  }
  return "";
}

}  // namespace penstock
