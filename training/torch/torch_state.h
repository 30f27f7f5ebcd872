// The RankState of ranks that train on LibTorch, on one device.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "training/device.h"
#include "training/rank_setup.h"
#include "training/rank_state.h"
#include "training/stage_layout.h"

namespace penstock {

class SectionStore;
struct StoreParts;

class TorchState : public RankState {
 public:
  // `device` outlives it. Every rank of a job starts with the same weights, whatever its stages.
  TorchState(const ModelDescription& model, const TrainingOptions& options, Device& device,
             std::size_t bucket_bytes = kBucketBytes);
  // Of sections that compute elsewhere.
  TorchState(const ModelDescription& model, const TrainingOptions& options, Device& device,
             std::size_t bucket_bytes, const StoreParts& parts);
  ~TorchState() override;

  [[nodiscard]] std::vector<SectionState> pieces_of(const RankSetup& setup) const override;
  [[nodiscard]] bool changes_in_forward() const override;
  void lay_out(const RankSetup& setup) override;
  void copy(const Buffer& from, const Buffer& to) override;
  void let_go() override;

  std::vector<SectionState> section_states() override;
  std::vector<std::pair<std::string, double>> shared_numbers() override;
  void state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) override;

  // The most that weights, gradients and optimizer state took at once, in bytes.
  [[nodiscard]] std::size_t peak_bytes() const;

  // For TorchWork.
  [[nodiscard]] SectionStore& store() { return *store_; }

 private:
  [[nodiscard]] bool scales_loss() const { return precision_ == Precision::kFloat16; }

  const Precision precision_;
  std::unique_ptr<SectionStore> store_;
};

}  // namespace penstock
