// Beside what a rank computes with there is, of every segment that it trains, a twin on the host: a
// gradient that arrives and weights that go back, around the very tensors that the optimizer keeps.
// The step is the same arithmetic on the same numbers, so losses are those of a run without it, bit
// for bit. Of weights that several ranks divide (ZeRO-1) only the rank's own go there and back; the
// UNSHARD behind gathers the others.
//
// Where nothing keeps weights in 32 bits beside those that compute, the twin's weights are what is
// stepped: they are taken from the device before the first update, and again in every work that is
// made, so that what a checkpoint has brought counts.
#include "training/torch/offloaded_work.h"

#include <utility>

#include <ATen/ATen.h>

#include "training/torch/element_types.h"
#include "training/torch/flat_weights.h"
#include "training/torch/section_store.h"
#include "training/torch/stage_state.h"

namespace penstock {
namespace {

at::Tensor zeros_of(SlotLink& link, std::int64_t elements, at::ScalarType type) {
  const auto bytes = static_cast<std::size_t>(elements) * c10::elementSize(type);
  return at::from_blob(link.allocate(bytes), {elements}, at::TensorOptions().dtype(type));
}

at::Tensor part(const at::Tensor& flat, const ElementRange& range) {
  return flat.narrow(0, static_cast<std::int64_t>(range.begin),
                     static_cast<std::int64_t>(range.size()));
}

std::shared_ptr<FlatWeights> twin_of(const FlatWeights& flat, SlotLink& link) {
  auto twin = std::make_shared<FlatWeights>();
  twin->at = flat.at;
  twin->owned_offset = flat.owned_offset;
  twin->weights = zeros_of(link, flat.weights.numel(), flat.weights.scalar_type());
  twin->gradient = zeros_of(link, flat.gradient.numel(), flat.gradient.scalar_type());
  twin->kept = flat.kept;
  twin->master = flat.master;
  twin->moments = flat.moments;
  twin->weights.copy_(flat.weights);
  return twin;
}

}  // namespace

std::unique_ptr<TorchState> make_offloaded_state(const ModelDescription& model,
                                                 const TrainingOptions& options, Device& device,
                                                 SlotLink& link) {
  StoreParts parts;
  parts.kept = [&link](std::int64_t elements, at::ScalarType type) {
    return zeros_of(link, elements, type);
  };
  return std::make_unique<TorchState>(model, options, device, kBucketBytes, parts);
}

OffloadedWork::OffloadedWork(const RankSetup& setup, TorchState& state, const TokenSource& data,
                             SlotLink& link)
    : TorchWork(setup, state, data), link_(link) {}

// Copies that are under way when something has failed use the twins.
OffloadedWork::~OffloadedWork() { link_.settle(); }

OffloadedWork::OnHost& OffloadedWork::on_host(int stage) {
  OnHost& twins = on_host_[stage];
  if (!twins.empty()) return twins;
  for (const auto& flat : state().store().stage(stage).flats()) {
    twins.push_back(flat->at.frozen ? nullptr : twin_of(*flat, link_));
  }
  return twins;
}

void OffloadedWork::optimize(int stage) {
  const std::optional<OptimizerStep> step = next_update();
  if (!step) return;  // what LOAD brings back is what was there
  for (const auto& twin : on_host(stage)) {
    if (twin != nullptr) optimize_flat(*twin, *step);
  }
}

std::unique_ptr<SlotCopy> OffloadedWork::copy(ActionKind kind, int stage, SteadyTime /*ready*/,
                                              const std::vector<const SlotCopy*>& after) {
  const OnHost& twins = on_host(stage);
  const auto& flats = state().store().stage(stage).flats();
  const Device& device = state().store().device();
  SlotTransfer transfer;
  transfer.to_host = kind == ActionKind::kStore;
  for (std::size_t i = 0; i < flats.size(); ++i) {
    if (twins[i] == nullptr) continue;
    const FlatWeights &here = *flats[i], &there = *twins[i];
    for (const ElementRange& owned : here.at.owned) {
      const auto buffer = [&](const at::Tensor& flat) {
        return buffer_of(part(flat, owned), device);
      };
      if (transfer.to_host) {
        transfer.pieces.push_back({buffer(here.gradient), buffer(there.gradient)});
      } else {
        transfer.pieces.push_back({buffer(there.weights), buffer(here.weights)});
      }
    }
  }
  return link_.copy(std::move(transfer), after);
}

}  // namespace penstock
