// The RankState of a rank whose stages live in slots of its device: weights, gradients and what the
// optimizer keeps are in host memory, allocated once, and steps begin and end there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "training/device.h"
#include "training/rank_setup.h"
#include "training/rank_state.h"
#include "training/slot_link.h"
#include "training/stage_layout.h"
#include "training/torch/section_module.h"
#include "training/torch/torch_state.h"

namespace penstock {

class SpilledState : public RankState {
 public:
  // `device` and `link` outlive it.
  SpilledState(const ModelDescription& model, const TrainingOptions& options, Device& device,
               SlotLink& link, std::size_t bucket_bytes = kBucketBytes);
  ~SpilledState() override;

  [[nodiscard]] std::vector<SectionState> pieces_of(const RankSetup& setup) const override;
  [[nodiscard]] bool changes_in_forward() const override;
  // Once: it allocates the pools.
  void lay_out(const RankSetup& setup) override;
  void copy(const Buffer& from, const Buffer& to) override;
  void let_go() override;

  std::vector<SectionState> section_states() override;
  std::vector<std::pair<std::string, double>> shared_numbers() override;
  void state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) override;

  // For SpilledWork: all stages, in host memory; those that are in slots; and what is between them.
  [[nodiscard]] SectionStore& on_host();
  [[nodiscard]] TorchState& on_device();
  [[nodiscard]] SlotLink& link() { return link_; }
  [[nodiscard]] at::Tensor zeros_on_host(std::int64_t elements, at::ScalarType type);
  [[nodiscard]] std::size_t host_bytes() const { return host_bytes_; }
  // With the ties between stages, which the lists of a spilled model do not name: what several
  // stages share is summed and updated on the host.
  [[nodiscard]] RankSetup with_ties(const RankSetup& setup) const;

 private:
  class HostMemory;

  [[nodiscard]] std::shared_ptr<SectionModule> stored_section(int section);

  Device& device_;
  SlotLink& link_;
  const std::unique_ptr<HostMemory> memory_;
  std::unique_ptr<TorchState> on_device_, on_host_;
  std::size_t host_bytes_ = 0;  // of pools
  bool is_laid_out_ = false;
};

}  // namespace penstock
