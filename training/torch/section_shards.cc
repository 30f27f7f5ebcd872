// Weights of a section lie in one or more segments; a segment that several sections share is whole
// as long as one of them is. A gather copies the owned elements into the whole tensor, whose other
// parts arrive in place; so there is no second buffer, and nothing to copy out. Gradients of a
// micro-batch are whole while the section's backward runs, in the type of the weights, and become
// sums of the owned elements, which add up over the micro-batches in the type of the optimizer.
//
// Invariant: begin_gather(), let_go() and reduce() are called in an order that follows from the
// list of actions alone, so all holders begin the same collectives in the same order.
#include "training/torch/section_shards.h"

#include <algorithm>
#include <utility>

#include "training/torch/element_types.h"
#include "training/torch/hollow_tensor.h"

namespace penstock {
namespace {

at::Tensor part(const at::Tensor& flat, std::size_t begin, std::size_t end) {
  return flat.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}

}  // namespace

SectionShards::SectionShards(const StageSetup& stage, const std::vector<Segment>& segments,
                             const Flats& flats, const Device& device)
    : stage_(stage),
      segments_(segments),
      flats_(flats),
      device_(device),
      gathered_(static_cast<std::size_t>(stage.end_section - stage.first_section)),
      reduced_(gathered_.size()),
      is_gathered_(gathered_.size(), false),
      uses_(flats.size()) {
  const auto add = [](std::vector<std::size_t>& flats_of_section, std::size_t flat) {
    if (flats_of_section.empty() || flats_of_section.back() != flat) {
      flats_of_section.push_back(flat);
    }
  };
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (const PlacedParameter& placed : segments[i].parameters) {
      const auto section = static_cast<std::size_t>(placed.section - stage.first_section);
      if (flats[i]->gathers()) add(gathered_[section], i);
      if (flats[i]->reduces()) add(reduced_[section], i);
    }
    reduces_ = reduces_ || flats[i]->reduces();
  }
}

void SectionShards::begin_gather(std::size_t section) {
  if (gathered_[section].empty() || is_gathered_[section]) return;
  is_gathered_[section] = true;
  std::vector<std::size_t> missing;
  for (const std::size_t flat : gathered_[section]) {
    if (uses_[flat].sections++ == 0) missing.push_back(flat);
  }
  std::vector<Buffer> buffers;
  for (const std::size_t flat : missing) {
    take_memory(flats_[flat]->weights, *flats_[flat]->memory);
    fill_owned(*flats_[flat]);
    for (const Buffer& bucket : buckets(flat, flats_[flat]->weights)) buffers.push_back(bucket);
  }
  if (missing.empty() || exchange_ == nullptr) return;
  const int number =
      exchange_->begin(ActionKind::kUnshard, stage_.stage,
                       stage_.first_section + static_cast<int>(section), std::move(buffers));
  for (const std::size_t flat : missing) uses_[flat].gather = number;
}

void SectionShards::gather(std::size_t section) {
  begin_gather(section);
  for (const std::size_t flat : gathered_[section]) finish_gather(flat);
}

void SectionShards::finish_gather(std::size_t flat) {
  const int number = uses_[flat].gather;
  if (number == kNotUnderWay) return;
  exchange_->finish(number);
  for (Use& use : uses_) {
    if (use.gather == number) use.gather = kNotUnderWay;
  }
}

void SectionShards::let_go(std::size_t section) {
  if (!is_gathered_[section]) return;
  is_gathered_[section] = false;
  for (const std::size_t flat : gathered_[section]) {
    finish_gather(flat);
    if (--uses_[flat].sections == 0) drop_memory(flats_[flat]->weights, *flats_[flat]->memory);
  }
}

void SectionShards::begin_gradient(std::size_t section) {
  for (const std::size_t flat : reduced_[section]) {
    const auto& under_way = reduction_.flats;
    if (std::find(under_way.begin(), under_way.end(), flat) != under_way.end()) finish_reduction();
    take_memory(flats_[flat]->gradient, *flats_[flat]->memory);
    flats_[flat]->gradient.zero_();
  }
}

void SectionShards::reduce(std::size_t section) {
  finish_reduction();
  if (reduced_[section].empty()) return;
  std::vector<Buffer> buffers;
  for (const std::size_t flat : reduced_[section]) {
    FlatWeights& own = *flats_[flat];
    at::Tensor sums = unseen(own.gradient);
    if (sums.scalar_type() != own.own_gradient.scalar_type()) {
      sums = sums.to(own.own_gradient.scalar_type());
      own.memory->add(bytes_of(sums));
      drop_memory(own.gradient, *own.memory);
    }
    for (const Buffer& bucket : buckets(flat, sums)) buffers.push_back(bucket);
    reduction_.flats.push_back(flat);
    reduction_.sums.push_back(std::move(sums));
  }
  if (exchange_ == nullptr) return;
  reduction_.number =
      exchange_->begin(ActionKind::kReduceGradient, stage_.stage,
                       stage_.first_section + static_cast<int>(section), std::move(buffers));
}

void SectionShards::finish_reduction() {
  Reduction ended = std::exchange(reduction_, {});
  if (ended.number != kNotUnderWay) exchange_->finish(ended.number);
  for (std::size_t i = 0; i < ended.flats.size(); ++i) {
    FlatWeights& flat = *flats_[ended.flats[i]];
    add_owned(flat, ended.sums[i]);
    if (has_memory(flat.gradient)) {
      drop_memory(flat.gradient, *flat.memory);
    } else {
      flat.memory->remove(bytes_of(ended.sums[i]));
    }
  }
}

std::vector<Buffer> SectionShards::buckets(std::size_t flat, const at::Tensor& tensor) const {
  const Buffer all = buffer_of(tensor, device_);
  std::vector<Buffer> parts;
  parts.reserve(segments_[flat].buckets.size());
  for (const ElementRange& bucket : segments_[flat].buckets) {
    parts.push_back(all.part(bucket.begin, bucket.end));
  }
  return parts;
}

void SectionShards::fill_owned(FlatWeights& flat) const {
  const at::Tensor whole = unseen(flat.weights);
  const at::Tensor& own = flat.master.defined() ? flat.master : flat.own_weights;
  for (std::size_t i = 0; i < flat.at.owned.size(); ++i) {
    const ElementRange& owned = flat.at.owned[i];
    part(whole, owned.begin, owned.end)
        .copy_(part(own, flat.owned_offset[i], flat.owned_offset[i + 1]));
  }
}

void SectionShards::add_owned(FlatWeights& flat, const at::Tensor& sums) const {
  for (std::size_t i = 0; i < flat.at.owned.size(); ++i) {
    const ElementRange& owned = flat.at.owned[i];
    part(flat.own_gradient, flat.owned_offset[i], flat.owned_offset[i + 1])
        .add_(part(sums, owned.begin, owned.end));
  }
}

}  // namespace penstock
