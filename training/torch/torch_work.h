// The RankWork that trains on LibTorch: the stages of one rank, on one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "training/byte_data.h"
#include "training/device.h"
#include "training/rank_setup.h"
#include "training/rank_work.h"
#include "training/section_state.h"
#include "training/stage_layout.h"

namespace penstock {

class TorchWork : public RankWork, public StateHolder {
 public:
  // `device` and `data` outlive it. Every rank of a job starts with the same weights, whatever its
  // stages. Error{kBadInput} when the model cannot be trained like this.
  TorchWork(const RankSetup& setup, Device& device, const ByteData& data,
            std::size_t bucket_bytes = kBucketBytes);
  ~TorchWork() override;

  // "head: a weight is used twice, ...": sections whose I does the work of W too, since their
  // backward cannot be divided. Known after the first I.
  [[nodiscard]] std::vector<std::string> not_split() const;

  void begin_step(std::int64_t step) override;
  void compute(ActionKind kind, int stage, int micro_batch) override;
  void synchronize() override;
  Buffer activation_to_receive(int stage, int micro_batch) override;
  Buffer gradient_to_receive(int stage, int micro_batch) override;
  Buffer activation_to_send(int stage, int micro_batch) override;
  Buffer gradient_to_send(int stage, int micro_batch) override;
  void sent_activation(int stage, int micro_batch) override;
  void sent_gradient(int stage, int micro_batch) override;
  void hand_on_activation(int stage, int micro_batch) override;
  void hand_on_gradient(int stage, int micro_batch) override;
  std::vector<Buffer> gradients(int stage) override;
  Buffer tied_gradient(int tie, int stage) override;
  void add_tied_gradient(int tie, int from_stage, int to_stage) override;
  void copy_tied_gradient(int tie, int from_stage, int to_stage) override;
  NormShare norm_share() override;
  // Error{kBadInput} when a gradient is not finite, except in fp16, where such a step is skipped.
  void set_global_norm(const NormShare& all) override;
  void optimize(int stage) override;
  std::vector<Buffer> parameters_to_gather(int stage) override;
  void gathered(int stage) override;

  std::vector<SectionState> section_states() override;
  std::vector<std::pair<std::string, double>> shared_numbers() override;
  void state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
