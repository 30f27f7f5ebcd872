// How far an estimate may be off, by what was counted for its device, model and trainer.
#pragma once

#include "core/values/architecture.h"
#include "core/values/estimate.h"
#include "core/values/profile.h"
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

// What those bands were counted from, for a model whose times go by `its`.
ErrorBasis basis_of(const EfficiencyCurve& its, const Architecture& model,
                    const EstimateRequest& request);

}  // namespace penstock
