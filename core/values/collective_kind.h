// The collectives that prices know, by the names that files use.
#pragma once

#include <optional>
#include <string_view>

namespace penstock {

enum class CollectiveKind { kAllReduce, kReduceScatter, kAllGather };

std::string_view name_of(CollectiveKind kind);  // "all_reduce"
std::optional<CollectiveKind> collective_kind_named(std::string_view name);

}  // namespace penstock
