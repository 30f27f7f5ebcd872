// Parameters of the stage's sections are views into the flat blocks, and gradients likewise, so
// binding copies nothing. Weights that decay stand first in every block, which makes a step of the
// optimizer two ranges per owned range. The norm counts every weight once over all ranks
// (Segment::counted), and squares are summed in double, because those of fp32 may overflow it.
#include "training/torch/stage_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/torch/element_types.h"

namespace penstock {
namespace {

at::Tensor part(const at::Tensor& flat, std::size_t begin, std::size_t end) {
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}
at::Tensor part(const at::Tensor& flat, const ElementRange& range) {
  return part(flat, range.begin, range.end);
}

// The sum of squares of an fp32 run, in double: its squares may exceed what fp32 holds.
at::Tensor sum_of_squares(const at::Tensor& values) {
  constexpr std::int64_t kChunk = std::int64_t{1} << 20;
  at::Tensor sum = at::zeros({}, values.options().dtype(at::kDouble));
  for (std::int64_t begin = 0; begin < values.numel(); begin += kChunk) {
    const at::Tensor chunk =
        values.narrow(0, begin, std::min(kChunk, values.numel() - begin)).to(at::kDouble);
    sum.add_(at::dot(chunk, chunk));
  }
  return sum;
}

void step_range(FlatWeights& flat, std::size_t owned, ElementRange range,
                const OptimizerStep& step) {
  if (range.size() == 0) return;
  const std::size_t at = flat.owned_offset[owned] + range.begin - flat.at.owned[owned].begin;
  const auto kept = [&](const at::Tensor& compact) { return part(compact, at, at + range.size()); };
  const at::Tensor weights = flat.gathers() ? at::Tensor() : part(flat.weights, range);
  const at::Tensor stepped = flat.master.defined() ? kept(flat.master)
                             : flat.gathers()      ? kept(flat.own_weights)
                                                   : weights;
  step_flat(step, stepped, flat.reduces() ? kept(flat.own_gradient) : part(flat.gradient, range),
            flat.moments.empty() ? at::Tensor() : kept(flat.moments[0]),
            flat.moments.size() < 2 ? at::Tensor() : kept(flat.moments[1]));
  if (flat.master.defined() && !flat.gathers()) weights.copy_(stepped);
}

}  // namespace

StageState::StageState(const ModelOutline& outline, const StageSetup& stage, Sections sections,
                       std::vector<Segment> segments,
                       std::vector<std::shared_ptr<FlatWeights>> flats, const Device& device)
    : stage_(stage),
      device_(device),
      sections_(std::move(sections)),
      segments_(std::move(segments)),
      flats_(std::move(flats)),
      shards_(stage_, segments_, flats_, device_) {
  for (int s = stage.first_section; s < stage.end_section; ++s) {
    const SectionOutline& section = outline.sections[static_cast<std::size_t>(s)];
    gradients_.emplace_back(section.parameters.size());
    names_.push_back(section.name);
    trained_.emplace_back();
    for (std::size_t i = 0; i < section.parameters.size(); ++i) {
      if (!section.parameters[i].frozen) trained_.back().push_back(i);
    }
  }
  bind(outline, flats_);
}

void StageState::bind(const ModelOutline& outline,
                      std::vector<std::shared_ptr<FlatWeights>> flats) {
  flats_ = std::move(flats);
  for (std::size_t i = 0; i < flats_.size(); ++i) {
    for (const PlacedParameter& placed : segments_[i].parameters) {
      const auto section = static_cast<std::size_t>(placed.section - stage_.first_section);
      const auto parameter = static_cast<std::size_t>(placed.parameter);
      const auto& shape =
          outline.sections[static_cast<std::size_t>(placed.section)].parameters[parameter].shape;
      sections_[section]->bind(parameter, part(flats_[i]->weights, placed.place).view(shape));
      if (segments_[i].at.frozen) continue;
      gradients_[section][parameter] = part(flats_[i]->gradient, placed.place).view(shape);
    }
  }
}

Tensors StageState::trained_weights(std::size_t section) const {
  Tensors weights;
  weights.reserve(trained_[section].size());
  for (const std::size_t i : trained_[section]) weights.push_back(sections_[section]->weights()[i]);
  return weights;
}

void StageState::zero_gradients() {
  for (const auto& flat : flats_) {
    if (flat->at.frozen) continue;
    (flat->reduces() ? flat->own_gradient : flat->gradient).zero_();
    if (flat->gathers() && flat->master.defined()) flat->own_weights = at::Tensor();
  }
}

void StageState::set_training(bool training) {
  for (const auto& section : sections_) section->set_training(training);
}

void StageState::add_gradient(std::size_t section, std::size_t weight, const at::Tensor& gradient) {
  gradients_[section][trained_[section][weight]].add_(gradient);
}

// Of what is no tie with other stages.
std::vector<Buffer> StageState::buckets_of(at::Tensor FlatWeights::*what) const {
  std::vector<Buffer> buckets;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].tie >= 0 || segments_[i].at.frozen) continue;
    const Buffer all = buffer_of((*flats_[i]).*what, device_);
    for (const ElementRange& bucket : segments_[i].buckets) {
      buckets.push_back(all.part(bucket.begin, bucket.end));
    }
  }
  return buckets;
}
std::vector<Buffer> StageState::gradient_buckets() const {
  return buckets_of(&FlatWeights::gradient);
}
std::vector<Buffer> StageState::weight_buckets() const { return buckets_of(&FlatWeights::weights); }

at::Tensor StageState::tied_gradient(int tie) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].tie == tie) return flats_[i]->gradient;
  }
  throw Error(ErrorKind::kInternal, "stage " + std::to_string(stage_.stage) +
                                        " has no part in tie " + std::to_string(tie));
}
Buffer StageState::tied_gradient_buffer(int tie) const {
  return buffer_of(tied_gradient(tie), device_);
}

at::Tensor StageState::squared_norm() const {
  at::Tensor sum = at::zeros({}, at::TensorOptions(at::Device(device_.name())).dtype(at::kDouble));
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    for (const at::Tensor& square : squares(i)) sum.add_(square);
  }
  return sum;
}

Tensors StageState::squares(std::size_t segment) const {
  Tensors of_ranges;
  if (!segments_[segment].counted) return of_ranges;
  const FlatWeights& flat = *flats_[segment];
  if (flat.reduces()) return {sum_of_squares(flat.own_gradient)};
  for (const ElementRange& owned : segments_[segment].at.owned) {
    of_ranges.push_back(sum_of_squares(part(flat.gradient, owned)));
  }
  return of_ranges;
}

void optimize_flat(FlatWeights& flat, OptimizerStep step) {
  // Copies that were made for somebody who asked for the state are out of date from here on.
  if (flat.gathers() && flat.master.defined()) flat.own_weights = at::Tensor();
  const SegmentPlace& at = flat.at;
  const ElementRange decayed{0, at.decayed_end};
  const ElementRange others{at.decayed_end, at.elements};
  for (std::size_t i = 0; i < at.owned.size(); ++i) {
    step.decays = true;
    step_range(flat, i, common(at.owned[i], decayed), step);
    step.decays = false;
    step_range(flat, i, common(at.owned[i], others), step);
  }
}

void StageState::optimize(const OptimizerStep& step) {
  for (std::size_t i = 0; i < flats_.size(); ++i) optimize(i, step);
}

void StageState::optimize(std::size_t segment, OptimizerStep step) {
  optimize_flat(*flats_[segment], std::move(step));
}

std::vector<SectionState> StageState::section_states(const ModelOutline& outline,
                                                     const KeptPerWeight& kept) const {
  const BufferAt buffer_at = [this](std::size_t segment, int which, const ElementRange& range) {
    FlatWeights& flat = *flats_[segment];
    if (which < 0 && flat.gathers() && !flat.own_weights.defined()) {
      flat.own_weights = flat.master.to(flat.weights.scalar_type());
    }
    const at::Tensor& weights = flat.gathers() ? flat.own_weights : flat.weights;
    const at::Tensor& all = which < 0 ? weights : flat.kept[static_cast<std::size_t>(which)];
    return buffer_of(part(all, range), device_);
  };
  const SectionBufferAt section_buffer_at = [this](int section, std::size_t buffer) {
    const auto index = static_cast<std::size_t>(section - stage_.first_section);
    return buffer_of(sections_[index]->buffers()[buffer], device_);
  };
  return section_pieces(outline, stage_, segments_, kept, buffer_at, section_buffer_at);
}

}  // namespace penstock
