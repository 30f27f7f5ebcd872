// What the last member of a loopback collective does: the sums and copies. Private to training/.
#pragma once

#include <string_view>

#include "training/loopback_hub.h"

namespace penstock {

std::string_view name_of(GroupCall kind);  // "all_reduce"

// Error{kInternal} when `rank` calls something else than the first member did.
void require_same_call(const LoopbackCollective& collective, int rank, GroupCall kind,
                       const Buffer& buffer);

// All members are there. Buffers on a GPU go through host memory: their sums, too, are made in the
// order of the members.
void carry_out(const LoopbackCollective& collective, CopyEngine& engine);

}  // namespace penstock
