// What a layer keeps for its backward, and what is there while it works. Private to estimator/.
#pragma once

#include "core/values/architecture.h"
#include "estimator/count_operations.h"

namespace penstock {

// `stash`, `weight_stash` and `working_peak`.
void count_layer_memory(const Architecture& model, LayerKind kind, const CountKey& key,
                        SectionCounts& counts);

}  // namespace penstock
