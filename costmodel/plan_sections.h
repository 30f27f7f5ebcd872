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

// What sections that recompute are taken to cost beside others that keep their activations: no part
// of their work takes less than it does in those. A mode was measured in all sections or none, and
// that it seems to save time in F or B is noise of small sections; a search that believed it would
// recompute in them for its own sake, where memory asks for none.
SectionTable no_faster_than(SectionTable recomputed, const SectionTable& kept);
// Whether that changes anything.
bool is_somewhere_faster(const SectionTable& recomputed, const SectionTable& kept);

// On devices of this type, for micro-batches of this shape.
SectionTable price_plan_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                                 const std::string& device, const Plan& plan,
                                 const MicroBatchShape& shape);

}  // namespace penstock
