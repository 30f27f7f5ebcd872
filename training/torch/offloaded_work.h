// The RankWork of stages whose optimizer's state lies on the host, which updates: STORE brings
// gradients there, LOAD brings the updated weights back, into the place where they were.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "training/slot_link.h"
#include "training/torch/torch_work.h"

namespace penstock {

struct FlatWeights;

// A state whose optimizer's part is in host memory of `link`, which outlives it.
std::unique_ptr<TorchState> make_offloaded_state(const ModelDescription& model,
                                                 const TrainingOptions& options, Device& device,
                                                 SlotLink& link);

class OffloadedWork : public TorchWork {
 public:
  // `state` is one of make_offloaded_state(), laid out for `setup`.
  OffloadedWork(const RankSetup& setup, TorchState& state, const TokenSource& data, SlotLink& link);
  ~OffloadedWork() override;

  void optimize(int stage) override;
  [[nodiscard]] std::unique_ptr<SlotCopy> copy(ActionKind kind, int stage, SteadyTime ready,
                                               const std::vector<const SlotCopy*>& after) override;

 private:
  using OnHost = std::vector<std::shared_ptr<FlatWeights>>;  // by segment; null: frozen

  OnHost& on_host(int stage);

  SlotLink& link_;
  std::map<int, OnHost> on_host_;
};

}  // namespace penstock
