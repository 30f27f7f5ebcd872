// The RankWork that trains on LibTorch: the stages of one rank, on one device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "training/device.h"
#include "training/rank_setup.h"
#include "training/rank_work.h"
#include "training/stage_layout.h"
#include "training/token_source.h"
#include "training/torch/torch_state.h"

namespace penstock {

struct OptimizerStep;

class TorchWork : public RankWork {
 public:
  // `state` is laid out for `setup`, by lay_out() or rebind(); both outlive it.
  TorchWork(const RankSetup& setup, TorchState& state, const TokenSource& data);
  // With a state of its own. `device` and `data` outlive it. Error{kBadInput} when the model cannot
  // be trained like this.
  TorchWork(const RankSetup& setup, Device& device, const TokenSource& data,
            std::size_t bucket_bytes = kBucketBytes);
  ~TorchWork() override;

  [[nodiscard]] TorchState& state();

  // "head: a weight is used twice, ...": sections whose I does the work of W too, since their
  // backward cannot be divided. Known after the first I.
  [[nodiscard]] std::vector<std::string> not_split() const;

  // Where begin_evaluation() takes its samples, which outlives this.
  void evaluate_on(const TokenSource& data);

  // On a GPU only: every stage forward and backward, in both ways, with zeros.
  void warm_up() override;
  void exchange_through(SectionExchange* exchange) override;
  void begin_step(std::int64_t step) override;
  [[nodiscard]] std::optional<std::int64_t> peak_bytes() override;
  void begin_evaluation(std::int64_t batch) override;
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

  // Where stages live in slots, whose state is not all here (SpilledWork). Forward keeps a stage's
  // input only, but for the last stage, whose backward follows at once.
  void keep_last_stage_only();
  // norm_share() by the squares of all gradients, and what optimize() would do with a stage,
  // nothing where the step is skipped.
  [[nodiscard]] NormShare norm_share_of(double squared_norm);
  [[nodiscard]] std::optional<OptimizerStep> next_update();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
