// A stage of a plan on the weights of its sections: which segments it has, in which order they are
// reduced and stepped. It owns none of them (SectionStore).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "training/device.h"
#include "training/rank_setup.h"
#include "training/section_pieces.h"
#include "training/stage_layout.h"
#include "training/torch/flat_optimizer.h"
#include "training/torch/flat_weights.h"
#include "training/torch/section_module.h"
#include "training/torch/section_shards.h"

namespace penstock {

// A step of the owned elements of one segment.
void optimize_flat(FlatWeights& flat, OptimizerStep step);

class StageState {
 public:
  using Sections = std::vector<std::shared_ptr<SectionModule>>;

  // `flats`: the memory of every segment. Binds the sections' weights to it.
  StageState(const ModelOutline& outline, const StageSetup& stage, Sections sections,
             std::vector<Segment> segments, std::vector<std::shared_ptr<FlatWeights>> flats,
             const Device& device);
  StageState(const StageState&) = delete;
  StageState& operator=(const StageState&) = delete;

  // The same stage in other memory. Without any it cannot compute and has no gradients, until it is
  // bound again; what a forward of it keeps stays valid.
  void bind(const ModelOutline& outline, std::vector<std::shared_ptr<FlatWeights>> flats);

  [[nodiscard]] const StageSetup& setup() const { return stage_; }
  // From first_section on.
  [[nodiscard]] const Sections& sections() const { return sections_; }
  // The layout, and the memory of each segment.
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const std::vector<std::shared_ptr<FlatWeights>>& flats() const { return flats_; }

  // `section` counts from first_section.
  [[nodiscard]] const std::string& name_of(std::size_t section) const { return names_[section]; }
  [[nodiscard]] Tensors trained_weights(std::size_t section) const;

  [[nodiscard]] SectionShards& shards() { return shards_; }

  void zero_gradients();
  // Of all sections; dropout, for one, is for training only.
  void set_training(bool training);
  // Of one of trained_weights().
  void add_gradient(std::size_t section, std::size_t weight, const at::Tensor& gradient);

  [[nodiscard]] std::vector<Buffer> gradient_buckets() const;
  [[nodiscard]] at::Tensor tied_gradient(int tie) const;
  [[nodiscard]] Buffer tied_gradient_buffer(int tie) const;
  // Of the elements that count in this rank's part of the norm: the sum of their squares, as a
  // tensor of one double.
  [[nodiscard]] at::Tensor squared_norm() const;
  // What it is the sum of: of each range of a segment that this rank counts.
  [[nodiscard]] Tensors squares(std::size_t segment) const;
  void optimize(const OptimizerStep& step);
  void optimize(std::size_t segment, OptimizerStep step);
  [[nodiscard]] std::vector<Buffer> weight_buckets() const;

  [[nodiscard]] std::vector<SectionState> section_states(const ModelOutline& outline,
                                                         const KeptPerWeight& kept) const;

 private:
  [[nodiscard]] std::vector<Buffer> buckets_of(at::Tensor FlatWeights::*what) const;

  StageSetup stage_;
  const Device& device_;
  Sections sections_;
  std::vector<Segment> segments_;
  std::vector<std::shared_ptr<FlatWeights>> flats_;  // as segments_
  std::vector<std::string> names_;                   // of the sections
  std::vector<std::vector<std::size_t>> trained_;    // by section: which parameters are
  std::vector<std::vector<at::Tensor>> gradients_;   // by section and parameter: views into flats_
  SectionShards shards_;
};

}  // namespace penstock
