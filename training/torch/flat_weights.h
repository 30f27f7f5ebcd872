// The memory of one segment of weights (training/stage_layout.h) with its gradient and what the
// optimizer keeps. In bf16 and fp16 sections compute with copies of fp32 weights, and gradients are
// summed in fp32.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include "training/stage_layout.h"

namespace penstock {

struct FlatWeights {
  SegmentPlace at;
  std::vector<std::size_t> owned_offset;
  at::Tensor weights, gradient;
  // As KeptPerWeight::names, of the owned elements only, one owned range after the other.
  std::vector<at::Tensor> kept;
  // The first of `kept`, or undefined: then the optimizer steps `weights`.
  at::Tensor master;
  std::vector<at::Tensor> moments;  // the others
};

}  // namespace penstock
