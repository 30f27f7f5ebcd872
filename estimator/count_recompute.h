// What a layer computes again before its backward, and what it keeps then.
#pragma once

#include <optional>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/profile.h"
#include "core/values/units.h"
#include "estimator/count_operations.h"

namespace penstock {

enum class Recompute { kNone, kSelective, kFull };

// A layer that keeps less. `again` is what is computed once more before its backward.
struct RecomputeCounts {
  Work again;
  std::vector<TensorTraffic> traffic;  // of the whole layer
  std::optional<ExpertTraffic> experts;
  Bytes stash, weight_stash, working_peak;
};
RecomputeCounts count_recompute(const Architecture& model, LayerKind kind, const CountKey& key,
                                Recompute mode);

}  // namespace penstock
