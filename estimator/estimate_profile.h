// Architecture + datasheet + fitted efficiencies -> a ModelProfile whose times are estimated, every
// one of them marked so. Measured sections can replace them later: it is a profile like any other.
#pragma once

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/estimate.h"
#include "estimator/attention_rate.h"
#include "estimator/efficiency.h"

namespace penstock {

// Error{kBadInput} when the datasheet has no rate for that arithmetic, when no sequence length is
// given, or one beyond the model's learned positions.
Estimate estimate_profile(const Architecture& model, const DeviceSheet& device,
                          const Efficiency& efficiency, const EstimateRequest& request);

// bfloat16 where the device has it, else float16.
Arithmetic default_arithmetic(const DeviceSheet& device);
// The model's own, not above 8192; 0 when it has none.
int default_sequence_length(const Architecture& model);

}  // namespace penstock
