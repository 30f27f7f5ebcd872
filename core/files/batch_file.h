// Batches in files: the member "batch" of a plan's decisions, and penstock.batch/1, the same in a
// file of its own.
#pragma once

#include <string>

#include "core/values/batch.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"

namespace penstock {

Json write_batch(const Batch& batch);
// Error{kBadInput} for shapes that nobody takes, that two kinds of replicas take, or that are not
// in the order of the kinds, and for more samples than an integer counts.
Batch read_batch(JsonReader reader);

Batch read_batch_file(const Json& json, const std::string& file);

}  // namespace penstock
