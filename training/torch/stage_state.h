// The weights of one stage with their gradients and what the optimizer keeps, in flat storage
// (training/stage_layout.h). In bf16 and fp16 the sections compute with copies of fp32 weights, and
// gradients are summed in fp32.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "training/device.h"
#include "training/rank_setup.h"
#include "training/section_state.h"
#include "training/stage_layout.h"
#include "training/torch/flat_optimizer.h"
#include "training/torch/model.h"
#include "training/torch/section.h"

namespace penstock {

class StageState {
 public:
  StageState(const Model& model, const RankSetup& setup, const StageSetup& stage, Device& device,
             std::size_t bucket_bytes);

  [[nodiscard]] const StageSetup& setup() const { return stage_; }
  // From first_section on.
  [[nodiscard]] const std::vector<std::unique_ptr<Section>>& sections() const { return sections_; }

  void zero_gradients();
  // `section` counts from first_section.
  void add_gradient(std::size_t section, std::size_t parameter, const at::Tensor& gradient);

  [[nodiscard]] std::vector<Buffer> gradient_buckets() const;
  [[nodiscard]] at::Tensor tied_gradient(int tie) const;
  [[nodiscard]] Buffer tied_gradient_buffer(int tie) const;
  // Of the elements that count in this rank's part of the norm: the sum of their squares, as a
  // tensor of one double.
  [[nodiscard]] at::Tensor squared_norm() const;
  void optimize(OptimizerStep step);
  [[nodiscard]] std::vector<Buffer> weight_buckets() const;

  [[nodiscard]] std::vector<SectionState> section_states() const;

 private:
  struct Flat {
    Segment segment;
    std::vector<std::size_t> owned_offset;
    at::Tensor weights, gradient;
    // Of the owned elements only, one owned range after the other. Without master weights of their
    // own, the optimizer steps `weights`.
    at::Tensor master;
    std::vector<at::Tensor> moments;
  };
  void allocate(const Segment& segment);
  void bind_and_fill(Flat& flat, const Model& model, std::uint64_t seed);
  void step_range(Flat& flat, std::size_t owned, ElementRange range, const OptimizerStep& step);
  void add_pieces(const Flat& flat, const PlacedParameter& placed, SectionState& state) const;

  ModelDescription description_;
  TrainingOptions options_;
  StageSetup stage_;
  Device& device_;
  const ModelOutline outline_;
  std::vector<std::unique_ptr<Section>> sections_;
  std::vector<Flat> flats_;
  std::vector<std::vector<at::Tensor>> gradients_;  // by section and parameter: views into flats_
};

}  // namespace penstock
