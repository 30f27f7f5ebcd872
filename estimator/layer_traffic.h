// What a section sends to the other ranks of its tensor-parallel group, to experts and to the next
// stage, in bytes of one rank. Private to estimator/.
#pragma once

#include <optional>
#include <vector>

#include "core/values/architecture.h"
#include "core/values/profile.h"
#include "core/values/units.h"
#include "estimator/count_operations.h"

namespace penstock {

// Does PyTorch gather and scatter tokens here?
bool torch_gathers(const CountKey& key);
// Bytes that it copies around so many of its collectives.
double torch_copies(const Architecture& model, const CountKey& key, int collectives);

// Two all-reduces of the layer's output in each direction, as rings.
double reduced_bytes(const Architecture& model, const CountKey& key);

// Of the busiest rank over the mean: tokens that are sent to experts, where they are.
double sent(const CountKey& key);
// Over how many ranks a layer divides copies of tokens.
double divided_copies(const CountKey& key);
std::optional<ExpertTraffic> dispatched(const Architecture& model, LayerKind kind,
                                        const CountKey& key);

// What a collective of the whole width carries, and what goes to the next stage.
Bytes tokens_bytes(const Architecture& model, const CountKey& key);
Bytes boundary_of(const Architecture& model, const CountKey& key);

// With T > 1.
std::vector<TensorTraffic> layer_traffic(const Architecture& model, LayerKind kind,
                                         const CountKey& key);

}  // namespace penstock
