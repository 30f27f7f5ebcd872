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

ElementRange common(const ElementRange& a, const ElementRange& b) {
  const std::size_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
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

const char* const kMomentNames[] = {"exp_avg", "exp_avg_sq"};

}  // namespace

StageState::StageState(const Model& model, const RankSetup& setup, const StageSetup& stage,
                       Device& device, std::size_t bucket_bytes)
    : description_(setup.model),
      options_(setup.options),
      stage_(stage),
      device_(device),
      outline_(model.outline()) {
  for (int s = stage.first_section; s < stage.end_section; ++s) {
    sections_.push_back(
        model.section(s, at::Device(device.name()), compute_type(description_.precision)));
    gradients_.emplace_back(outline_.sections[static_cast<std::size_t>(s)].parameters.size());
  }
  const std::size_t bytes = c10::elementSize(master_type(description_.precision));
  for (const Segment& segment : stage_layout(outline_, setup, stage, bucket_bytes / bytes)) {
    allocate(segment);
    bind_and_fill(flats_.back(), model, setup.options.seed);
  }
}

void StageState::allocate(const Segment& segment) {
  Flat flat;
  flat.segment = segment;
  flat.owned_offset = owned_offsets(segment);
  const auto elements = static_cast<std::int64_t>(segment.elements);
  const auto owned = static_cast<std::int64_t>(flat.owned_offset.back());
  const auto options = at::TensorOptions(at::Device(device_.name()));
  const auto master = options.dtype(master_type(description_.precision));
  flat.weights = at::zeros({elements}, options.dtype(compute_type(description_.precision)));
  flat.gradient = at::zeros({elements}, master);
  if (has_master_weights(description_.precision)) flat.master = at::zeros({owned}, master);
  for (int i = 0; i < moments_of(description_.optimizer, options_); ++i) {
    flat.moments.push_back(at::zeros({owned}, master));
  }
  flats_.push_back(std::move(flat));
}

void StageState::bind_and_fill(Flat& flat, const Model& model, std::uint64_t seed) {
  for (const PlacedParameter& placed : flat.segment.parameters) {
    const auto section = static_cast<std::size_t>(placed.section - stage_.first_section);
    const auto parameter = static_cast<std::size_t>(placed.parameter);
    const auto& shape =
        outline_.sections[static_cast<std::size_t>(placed.section)].parameters[parameter].shape;
    at::Tensor initial =
        model.initial(placed.section, placed.parameter, seed, master_type(description_.precision));
    initial = initial.reshape({-1});
    part(flat.weights, placed.place).copy_(initial);
    if (flat.master.defined()) {
      for (std::size_t i = 0; i < flat.segment.owned.size(); ++i) {
        const ElementRange& owned = flat.segment.owned[i];
        const ElementRange both = common(owned, placed.place);
        if (both.size() == 0) continue;
        const std::size_t at = flat.owned_offset[i] + both.begin - owned.begin;
        part(flat.master, at, at + both.size())
            .copy_(part(initial, both.begin - placed.place.begin, both.end - placed.place.begin));
      }
    }
    sections_[section]->bind(parameter, part(flat.weights, placed.place).view(shape));
    gradients_[section][parameter] = part(flat.gradient, placed.place).view(shape);
  }
}

void StageState::zero_gradients() {
  for (Flat& flat : flats_) flat.gradient.zero_();
}

void StageState::add_gradient(std::size_t section, std::size_t parameter,
                              const at::Tensor& gradient) {
  gradients_[section][parameter].add_(gradient);
}

std::vector<Buffer> StageState::gradient_buckets() const {
  const Flat& own = flats_.front();
  std::vector<Buffer> buckets;
  buckets.reserve(own.segment.buckets.size());
  const Buffer all = buffer_of(own.gradient, device_);
  for (const ElementRange& bucket : own.segment.buckets) {
    buckets.push_back(all.part(bucket.begin, bucket.end));
  }
  return buckets;
}

std::vector<Buffer> StageState::weight_buckets() const {
  const Flat& own = flats_.front();
  std::vector<Buffer> buckets;
  buckets.reserve(own.segment.buckets.size());
  const Buffer all = buffer_of(own.weights, device_);
  for (const ElementRange& bucket : own.segment.buckets) {
    buckets.push_back(all.part(bucket.begin, bucket.end));
  }
  return buckets;
}

at::Tensor StageState::tied_gradient(int tie) const {
  for (const Flat& flat : flats_) {
    if (flat.segment.tie == tie) return flat.gradient;
  }
  throw Error(ErrorKind::kInternal, "stage " + std::to_string(stage_.stage) +
                                        " has no part in tie " + std::to_string(tie));
}
Buffer StageState::tied_gradient_buffer(int tie) const {
  return buffer_of(tied_gradient(tie), device_);
}

at::Tensor StageState::squared_norm() const {
  at::Tensor sum = at::zeros({}, at::TensorOptions(at::Device(device_.name())).dtype(at::kDouble));
  for (const Flat& flat : flats_) {
    if (!flat.segment.counted) continue;
    for (const ElementRange& owned : flat.segment.owned) {
      sum.add_(sum_of_squares(part(flat.gradient, owned)));
    }
  }
  return sum;
}

void StageState::optimize(OptimizerStep step) {
  for (Flat& flat : flats_) {
    const ElementRange decayed{0, flat.segment.decayed_end};
    const ElementRange others{flat.segment.decayed_end, flat.segment.elements};
    for (std::size_t i = 0; i < flat.segment.owned.size(); ++i) {
      step.decays = true;
      step_range(flat, i, common(flat.segment.owned[i], decayed), step);
      step.decays = false;
      step_range(flat, i, common(flat.segment.owned[i], others), step);
    }
  }
}

void StageState::step_range(Flat& flat, std::size_t owned, ElementRange range,
                            const OptimizerStep& step) {
  if (range.size() == 0) return;
  const std::size_t at = flat.owned_offset[owned] + range.begin - flat.segment.owned[owned].begin;
  const auto kept = [&](const at::Tensor& compact) { return part(compact, at, at + range.size()); };
  const at::Tensor weights = part(flat.weights, range);
  const at::Tensor stepped = flat.master.defined() ? kept(flat.master) : weights;
  step_flat(step, stepped, part(flat.gradient, range),
            flat.moments.empty() ? at::Tensor() : kept(flat.moments[0]),
            flat.moments.size() < 2 ? at::Tensor() : kept(flat.moments[1]));
  if (flat.master.defined()) weights.copy_(stepped);
}

std::vector<SectionState> StageState::section_states() const {
  std::vector<SectionState> states;
  states.reserve(sections_.size());
  for (int s = stage_.first_section; s < stage_.end_section; ++s) {
    states.push_back({s, stage_.holders, stage_.holder, {}, {}});
  }
  for (const Flat& flat : flats_) {
    for (const PlacedParameter& placed : flat.segment.parameters) {
      add_pieces(flat, placed,
                 states[static_cast<std::size_t>(placed.section - stage_.first_section)]);
    }
  }
  return states;
}

void StageState::add_pieces(const Flat& flat, const PlacedParameter& placed,
                            SectionState& state) const {
  const ParameterOutline& outline = outline_.sections[static_cast<std::size_t>(placed.section)]
                                        .parameters[static_cast<std::size_t>(placed.parameter)];
  const std::size_t begin = placed.place.begin;
  std::size_t owned_elements = 0;
  for (const ElementRange& owned : flat.segment.owned) owned_elements += owned.size();
  const bool only_here = owned_elements < flat.segment.elements;
  state.parameters.push_back({outline.name, outline.shape, 0, placed.place.size(),
                              buffer_of(part(flat.weights, placed.place), device_)});
  for (std::size_t i = 0; i < flat.segment.owned.size(); ++i) {
    const ElementRange& owned = flat.segment.owned[i];
    const ElementRange both = common(owned, placed.place);
    if (both.size() == 0) continue;
    const std::size_t at = flat.owned_offset[i] + both.begin - owned.begin;
    const auto add = [&](const std::string& what, const at::Tensor& compact) {
      state.optimizer.push_back(
          {outline.name + "." + what, outline.shape, both.begin - begin, both.end - begin,
           buffer_of(part(compact, at, at + both.size()), device_), only_here});
    };
    if (flat.master.defined()) add("master", flat.master);
    for (std::size_t m = 0; m < flat.moments.size(); ++m) {
      add(description_.optimizer == OptimizerKind::kSgd ? "momentum" : kMomentNames[m],
          flat.moments[m]);
    }
  }
}

}  // namespace penstock
