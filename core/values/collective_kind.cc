#include "core/values/collective_kind.h"

#include <array>
#include <cstddef>

namespace penstock {
namespace {

constexpr std::array<std::string_view, 3> kNames{"all_reduce", "reduce_scatter", "all_gather"};

}  // namespace

std::string_view name_of(CollectiveKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<CollectiveKind> collective_kind_named(std::string_view name) {
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (kNames[k] == name) return static_cast<CollectiveKind>(k);
  }
  return std::nullopt;
}

}  // namespace penstock
