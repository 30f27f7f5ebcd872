#include "core/values/action_kind.h"

#include <array>
#include <cstddef>

namespace penstock {
namespace {

constexpr std::array<std::string_view, kActionKinds> kNames = {
    "F",           "I",      "W",      "B",       "R",       "SEND_F",
    "RECV_F",      "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "TIED_REDUCE",
    "REDUCE_GRAD", "NORM",   "OPT",    "LOAD",    "STORE"};

}  // namespace

std::string_view name_of(ActionKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<ActionKind> action_kind_named(std::string_view name) {
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (kNames[k] == name) return static_cast<ActionKind>(k);
  }
  return std::nullopt;
}

}  // namespace penstock
