// Weights lie flat, one block per segment (section, shared or not, frozen or not), so that a
// reduction or a step of the optimizer touches few large tensors. A block whose place is the same
// under the next plan is kept as it is; others are allocated anew and filled by the moves of
// rebind(). Only the first layout fills them from the model's initial weights. Kept state (master
// weights, moments) holds just the ranges that the rank owns.
#include "training/torch/section_store.h"

#include <algorithm>
#include <string>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/torch/element_types.h"
#include "training/torch/hollow_tensor.h"

namespace penstock {
namespace {

// Of what is there between two actions, as long as the memory is.
std::size_t kept_bytes(const FlatWeights& flat) {
  std::size_t bytes = flat.gathers() ? 0 : bytes_of(flat.weights);
  if (!flat.at.frozen && !flat.reduces()) bytes += bytes_of(flat.gradient);
  if (flat.gathers() && !flat.master.defined()) bytes += bytes_of(flat.own_weights);
  if (flat.own_gradient.defined()) bytes += bytes_of(flat.own_gradient);
  for (const at::Tensor& kept : flat.kept) bytes += bytes_of(kept);
  return bytes;
}

at::Tensor part(const at::Tensor& flat, const ElementRange& range) {
  return flat.narrow(0, static_cast<std::int64_t>(range.begin),
                     static_cast<std::int64_t>(range.size()));
}

void check_setup(const RankSetup& setup, const ModelDescription& model, const Device& device) {
  if (model.precision == Precision::kFloat16 && !device.is_gpu()) {
    throw_bad_input("float16 is for GPUs; on a CPU train in bfloat16 or float32");
  }
  if (setup.sequence_length < 1) {
    throw_bad_input("sequence length " + std::to_string(setup.sequence_length) +
                    ": training needs at least one token per sample");
  }
  if (model.family != ModelFamily::kTorchScript && setup.sequence_length > model.positions) {
    throw_bad_input("sequence length " + std::to_string(setup.sequence_length) +
                    " is beyond the model's " + std::to_string(model.positions) +
                    " positions; shorten it, or profile a model with more positions");
  }
}

}  // namespace

SectionStore::SectionStore(const ModelDescription& description, const TrainingOptions& options,
                           Device& device, std::size_t bucket_bytes, StoreParts parts)
    : description_(description),
      options_(options),
      device_(device),
      bucket_bytes_(bucket_bytes),
      parts_(std::move(parts)),
      model_(make_model(description)),
      kept_(kept_per_weight(description, options)) {}

std::vector<Segment> SectionStore::segments_of(const RankSetup& setup,
                                               const StageSetup& stage) const {
  const std::size_t bytes = c10::elementSize(master_type(description_.precision));
  return stage_layout(model_->outline(), setup, stage, bucket_bytes_ / bytes);
}

std::vector<SectionState> SectionStore::pieces_of(const RankSetup& setup) const {
  std::vector<SectionState> all;
  for (const StageSetup& stage : setup.stages) {
    for (SectionState& section : section_pieces(model_->outline(), stage, segments_of(setup, stage),
                                                kept_, no_memory(kept_))) {
      all.push_back(std::move(section));
    }
  }
  std::ranges::stable_sort(all, {}, &SectionState::section);
  return all;
}

std::vector<SectionState> SectionStore::section_states() const {
  std::vector<SectionState> all;
  for (const auto& [number, stage] : stages_) {
    for (SectionState& section : stage.section_states(model_->outline(), kept_)) {
      all.push_back(std::move(section));
    }
  }
  std::ranges::stable_sort(all, {}, &SectionState::section);
  return all;
}

void SectionStore::check(const RankSetup& setup) {
  check_setup(setup, description_, device_);
  if (setup.rank != 0 || !checked_lengths_.insert(setup.sequence_length).second) return;
  // Or when it was profiled.
  if (description_.division && description_.division->tokens == setup.sequence_length) return;
  model_->check_division(setup.sequence_length);
}

void SectionStore::lay_out(const RankSetup& setup) {
  check(setup);
  stages_.clear();
  before_ = std::exchange(flats_, {});
  const auto sections = std::exchange(sections_, {});
  for (const StageSetup& stage : setup.stages) {
    StageState::Sections of_stage;
    for (int s = stage.first_section; s < stage.end_section; ++s) {
      const auto known = sections.find(s);
      std::shared_ptr<SectionModule> section =
          known != sections.end() ? known->second : made_section(s);
      sections_[s] = section;
      of_stage.push_back(std::move(section));
    }
    std::vector<Segment> segments = segments_of(setup, stage);
    std::vector<Flat> flats;
    flats.reserve(segments.size());
    for (const Segment& segment : segments) flats.push_back(flat_of(segment));
    stages_.emplace(std::piecewise_construct, std::forward_as_tuple(stage.stage),
                    std::forward_as_tuple(model_->outline(), stage, std::move(of_stage),
                                          std::move(segments), std::move(flats), device_));
  }
  is_laid_out_ = true;
}

void SectionStore::bring(const StageSetup& stage, std::vector<Segment> segments,
                         std::vector<std::shared_ptr<FlatWeights>> flats) {
  if (const auto known = stages_.find(stage.stage); known != stages_.end()) {
    return known->second.bind(model_->outline(), std::move(flats));
  }
  StageState::Sections of_stage;
  for (int s = stage.first_section; s < stage.end_section; ++s) of_stage.push_back(section(s));
  stages_.emplace(std::piecewise_construct, std::forward_as_tuple(stage.stage),
                  std::forward_as_tuple(model_->outline(), stage, std::move(of_stage),
                                        std::move(segments), std::move(flats), device_));
}

void SectionStore::drop(int stage) { stages_.at(stage).bind(model_->outline(), {}); }

const std::shared_ptr<SectionModule>& SectionStore::section(int index) {
  std::shared_ptr<SectionModule>& held = sections_[index];
  if (held == nullptr) held = made_section(index);
  return held;
}

std::shared_ptr<SectionModule> SectionStore::made_section(int index) const {
  if (parts_.make_section) return parts_.make_section(index);
  return model_->section(index, at::Device(device_.name()), compute_type(description_.precision));
}

SectionStore::Flat SectionStore::flat_of(const Segment& segment) {
  const std::tuple key(segment.at.section, segment.at.shared, segment.at.frozen);
  Flat& flat = flats_[key];
  const auto held = before_.find(key);
  if (held != before_.end() && held->second->at == segment.at) {
    flat = held->second;
  } else {
    flat = allocated(segment.at);
    if (!is_laid_out_) fill(*flat, segment);
  }
  return flat;
}

SectionStore::Flat SectionStore::allocated(const SegmentPlace& at) const {
  auto flat = std::shared_ptr<FlatWeights>(new FlatWeights, [](FlatWeights* freed) {
    freed->memory->remove(kept_bytes(*freed));
    delete freed;
  });
  flat->at = at;
  flat->memory = memory_;
  flat->owned_offset = owned_offsets(at);
  const auto elements = static_cast<std::int64_t>(at.elements);
  const auto owned = static_cast<std::int64_t>(flat->owned_offset.back());
  const at::ScalarType master = master_type(description_.precision);
  const at::ScalarType compute = compute_type(description_.precision);
  const auto options = at::TensorOptions(at::Device(device_.name()));
  const auto zeros = [&](std::int64_t count, at::ScalarType type) {
    return parts_.zeros ? parts_.zeros(count, type) : at::zeros({count}, options.dtype(type));
  };
  const bool has_master = has_master_weights(description_.precision);
  flat->weights =
      flat->gathers() ? hollow_tensor(elements, options.dtype(compute)) : zeros(elements, compute);
  if (at.frozen) {
    memory_->add(kept_bytes(*flat));
    return flat;
  }
  if (flat->gathers() && !has_master) flat->own_weights = zeros(owned, compute);
  flat->gradient =
      flat->reduces() ? hollow_tensor(elements, options.dtype(compute)) : zeros(elements, master);
  if (flat->reduces()) flat->own_gradient = zeros(owned, master);
  for (std::size_t k = 0; k < kept_.names.size(); ++k) {
    flat->kept.push_back(parts_.kept ? parts_.kept(owned, master) : zeros(owned, master));
    if (k > 0 || !has_master) flat->moments.push_back(flat->kept.back());
  }
  if (has_master) flat->master = flat->kept.front();
  memory_->add(kept_bytes(*flat));
  return flat;
}

void SectionStore::fill(FlatWeights& flat, const Segment& segment) const {
  for (const PlacedParameter& placed : segment.parameters) {
    const at::Tensor initial = model_
                                   ->initial(placed.section, placed.parameter, options_.seed,
                                             master_type(description_.precision))
                                   .reshape({-1});
    if (!flat.gathers()) part(flat.weights, placed.place).copy_(initial);
    const at::Tensor& own = flat.master.defined() ? flat.master : flat.own_weights;
    if (!own.defined()) continue;
    for (std::size_t i = 0; i < flat.at.owned.size(); ++i) {
      const ElementRange& owned = flat.at.owned[i];
      const ElementRange both = common(owned, placed.place);
      if (both.size() == 0) continue;
      const std::size_t at = flat.owned_offset[i] + both.begin - owned.begin;
      part(own, {at, at + both.size()})
          .copy_(part(initial, {both.begin - placed.place.begin, both.end - placed.place.begin}));
    }
  }
}

}  // namespace penstock
