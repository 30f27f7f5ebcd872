// What a request for an estimate leaves to the model, the datasheet and the fitted figures, chosen
// once for all sections. Private to estimator/.
#pragma once

#include <cstdint>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "core/values/estimate.h"
#include "core/values/profile.h"
#include "estimator/count_operations.h"
#include "estimator/efficiency.h"

namespace penstock {

// Indices into the sources of an estimated profile.
enum EstimateSource { kTimesEstimated, kShapesCounted, kOperationsCounted, kTrainingAssumed };

// Keeps everything by reference.
class EstimateChoices {
 public:
  EstimateChoices(const Architecture& of_model, const DeviceSheet& of_device,
                  const Efficiency& efficiency, const EstimateRequest& of_request);

  const Architecture& model;
  const DeviceSheet& device;
  const EstimateRequest& request;
  const Arithmetic wide;  // of everything but the products of layers
  const EfficiencyCurve& curve;
  const EfficiencyCurve* const float8;  // those; null: as everything else
  const AttentionKernel kernel;

  // That of the products of layers, which make up most of a step.
  [[nodiscard]] const EfficiencyCurve& of_layers() const {
    return float8 != nullptr ? *float8 : curve;
  }
  // Error{kBadInput} when the datasheet has no rate for the arithmetic.
  [[nodiscard]] Rates rates() const;
  [[nodiscard]] CountKey key_of(int tensor_degree, int context_degree, int samples) const;

  [[nodiscard]] int gradient_bytes() const;
  [[nodiscard]] int optimizer_bytes() const;
  [[nodiscard]] LossKind loss() const;
  [[nodiscard]] bool loss_in_place() const { return loss() == LossKind::kInPlace; }
  // Kernels that are not fused, where the figures are those of fused ones.
  [[nodiscard]] bool unfused() const { return request.eager_kernels && !curve.eager; }
  // Sharded weights: a backward waits for each gather.
  [[nodiscard]] bool gathers_late() const;
  // Kernels of their own add gradients up.
  [[nodiscard]] bool sums_apart() const;
};

}  // namespace penstock
