// The sections of a plan, some of which may recompute and others not
// (core/values/recompute_sections.h).
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "costmodel/price_stages.h"

namespace penstock {

// Those of `recomputed` where that is said, those of `kept` elsewhere.
SectionTable merge_tables(const SectionTable& recomputed, const SectionTable& kept,
                          const std::vector<bool>& is_recomputed);

// On devices of this type, for micro-batches of this shape.
SectionTable price_plan_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                                 const std::string& device, const Plan& plan,
                                 const MicroBatchShape& shape);

}  // namespace penstock
