// The groups of a stage of a rank, and what of a buffer that they share is the rank's. Private to
// runtime_bridge/.
#pragma once

#include "runtime_bridge/rank_program.h"
#include "training/buffer.h"

namespace penstock {

[[nodiscard]] const StageSetup& setup_of(const RankProgram& program, int stage);
[[nodiscard]] const StageGroups& groups_of(const RankProgram& program, int stage);

// The part of this rank's shard.
[[nodiscard]] Buffer own_part(const RankProgram& program, int stage, const Buffer& whole);

}  // namespace penstock
