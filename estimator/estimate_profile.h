// Architecture + datasheet + fitted efficiencies -> a ModelProfile whose times are estimated, every
// one of them marked so. Measured sections can replace them later: it is a profile like any other.
#pragma once

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/estimate.h"
#include "estimator/attention_rate.h"
#include "estimator/efficiency.h"

namespace penstock {

// Of a trainer that is neither Megatron's nor XLA's: it does what those do not (gradients are added
// up by kernels of their own, collectives are waited for).
bool asks_for_other_trainer(const EstimateRequest& request);

ErrorBand widest(const ErrorBand& one, const ErrorBand& other);
// Of what `its` prices for the trainer that the request asks for. Runs of other trainers were
// counted apart where they were counted at all; on other devices, and in 8 bits, nothing is taken
// to be nearer than those are and than other runs there.
ErrorBand error_of(const EfficiencyCurve& its, const Efficiency& efficiency,
                   const EstimateRequest& request);

// Error{kBadInput} when the datasheet has no rate for that arithmetic, when no sequence length is
// given, or one beyond the model's learned positions.
Estimate estimate_profile(const Architecture& model, const DeviceSheet& device,
                          const Efficiency& efficiency, const EstimateRequest& request);

// bfloat16 where the device has it, else float16.
Arithmetic default_arithmetic(const DeviceSheet& device);
// The model's own, not above 8192; 0 when it has none.
int default_sequence_length(const Architecture& model);

}  // namespace penstock
