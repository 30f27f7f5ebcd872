// The member "batch" of a plan's decisions: micro-batches of different shapes. Private to core/.
#pragma once

#include "core/values/batch.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"

namespace penstock {

Json write_batch(const Batch& batch);
// Error{kBadInput} for shapes that nobody takes, that two kinds of replicas take, or that are not
// in the order of the kinds, and for more samples than an integer counts.
Batch read_batch(JsonReader reader);

}  // namespace penstock
