// The memory of one segment of weights (training/stage_layout.h) with its gradient and what the
// optimizer keeps. In bf16 and fp16 sections compute with copies of fp32 weights, and gradients are
// summed in fp32.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "training/stage_layout.h"

namespace penstock {

// Bytes of weights, gradients and optimizer state that a rank has.
struct StateMemory {
  std::size_t held = 0, peak = 0;
  void add(std::size_t bytes) {
    held += bytes;
    peak = peak < held ? held : peak;
  }
  void remove(std::size_t bytes) { held -= bytes; }
};

struct FlatWeights {
  SegmentPlace at;
  std::vector<std::size_t> owned_offset;
  // Whole. Where sections gather weights, or reduce gradients, of this rank alone: then these have
  // memory only while a section computes (section_shards.h).
  at::Tensor weights, gradient;
  // Of the owned elements only, one owned range after the other: what is there all the time of
  // weights that are gathered, and of gradients that sections reduce. Else undefined. Weights that
  // are copies of `master` are made when somebody asks for them.
  at::Tensor own_weights, own_gradient;
  // As KeptPerWeight::names, likewise of the owned elements only.
  std::vector<at::Tensor> kept;
  // The first of `kept`, or undefined: then the optimizer steps the weights.
  at::Tensor master;
  std::vector<at::Tensor> moments;  // the others
  std::shared_ptr<StateMemory> memory;

  [[nodiscard]] bool gathers() const { return at.by_section == SectionSharding::kWeights; }
  [[nodiscard]] bool reduces() const { return at.by_section != SectionSharding::kNone; }
};

}  // namespace penstock
