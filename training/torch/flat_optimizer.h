// The optimizer's arithmetic on flat runs of elements, equal to torch::optim's AdamW and SGD.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "core/values/model_description.h"
#include "training/rank_setup.h"

namespace penstock {

struct OptimizerStep {
  OptimizerKind kind = OptimizerKind::kAdamW;
  TrainingOptions options;
  std::int64_t number = 1;       // of this step, from 1
  double gradient_factor = 1.0;  // undoes the loss scale, clips
  bool decays = false;           // weight decay is for these elements
};

// All of one length. `first` and `second` are the moments that the optimizer keeps, or undefined.
// `gradient` is used up.
void step_flat(const OptimizerStep& step, const at::Tensor& weights, const at::Tensor& gradient,
               const at::Tensor& first, const at::Tensor& second);

}  // namespace penstock
