// What `penstock multi` makes of models that are spilled: one more option on one GPU, and units
// that several jobs can share GPUs by.
#pragma once

#include <optional>
#include <string>

#include "core/values/cluster.h"
#include "multi/schedule_models.h"
#include "search/question.h"

namespace penstock {

struct SpilledJob {
  UnitTask task;         // of `steps`
  Bytes slots, working;  // on the GPU: two slots, and what is beside them
  Bytes capacity;        // for both
  Bytes host, host_memory;
  std::string words;  // "spilled in 9 shards"
};

// Nothing where spilling does not make it fit, or where nothing is known of the host.
std::optional<SpilledJob> spilled_job(const Question& question, const std::string& name,
                                      std::int64_t steps);

}  // namespace penstock
