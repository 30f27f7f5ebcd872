// What the enumeration of groups (candidates.cc) needs of the choices that their candidates have.
#pragma once

#include <optional>

#include "search/candidates.h"

namespace penstock {

inline constexpr int kFewReplicas = 16;  // of no more than these every number is tried

inline bool allowed(const std::optional<int>& pin, int value) { return !pin || *pin == value; }

// Sequences are not cut, since profiles measure whole ones; Megatron's overlap needs to be asked
// for, since what it gains is not measured.
bool is_enumerated(const SearchRequest& request, const ScheduleKind& kind);

}  // namespace penstock
