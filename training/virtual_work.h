// A rank that computes nothing and sleeps what its actions would take: the executor, the transport
// and the order of a plan can be tried without a model and without a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/factor.h"
#include "core/values/units.h"
#include "training/rank_clock.h"
#include "training/rank_setup.h"
#include "training/rank_work.h"

namespace penstock {

// What F, I, W, B and R of every stage and micro-batch take, OPT, LOAD and STORE of every stage,
// and a rank's own part of NORM. Stages and micro-batches as in RankSetup.
class VirtualDurations {
 public:
  VirtualDurations(int stages, int micro_batches);
  void set(ActionKind kind, int stage, int micro_batch, Duration duration) {
    compute_[at(kind, stage, micro_batch)] = duration;
  }
  // Of a kind without micro-batches.
  void set(ActionKind kind, int stage, Duration duration) { once_[at(kind, stage)] = duration; }
  void set_norm(Duration duration) { norm_ = duration; }
  [[nodiscard]] Duration of(ActionKind kind, int stage, int micro_batch) const {
    return compute_[at(kind, stage, micro_batch)];
  }
  [[nodiscard]] Duration of(ActionKind kind, int stage) const { return once_[at(kind, stage)]; }
  [[nodiscard]] Duration of_norm() const { return norm_; }

 private:
  [[nodiscard]] std::size_t at(ActionKind kind, int stage) const {
    return static_cast<std::size_t>(kind) * static_cast<std::size_t>(stages_) +
           static_cast<std::size_t>(stage);
  }
  [[nodiscard]] std::size_t at(ActionKind kind, int stage, int micro_batch) const {
    return at(kind, stage) * static_cast<std::size_t>(micro_batches_) +
           static_cast<std::size_t>(micro_batch);
  }

  int stages_, micro_batches_;
  std::vector<Duration> compute_;  // [kind][stage][micro-batch]
  std::vector<Duration> once_;     // [kind][stage]
  Duration norm_{};
};

// From a step on the rank computes so many times as long.
struct VirtualSlowness {
  std::int64_t first_step = 0;
  Factor factor;
};

// Boundary tensors and gradients are a few bytes: prices decide what their ways take, not sizes.
// The loss is 0.
class VirtualWork : public RankWork {
 public:
  // `clock` outlives it.
  VirtualWork(const RankSetup& setup, std::shared_ptr<const VirtualDurations> durations,
              RankClock& clock, const std::optional<VirtualSlowness>& slow = {});

  void begin_step(std::int64_t step) override { is_slow_ = slow_ && step >= slow_->first_step; }
  void compute(ActionKind kind, int stage, int micro_batch) override;

  Buffer activation_to_receive(int stage, int micro_batch) override;
  Buffer gradient_to_receive(int stage, int micro_batch) override;
  Buffer activation_to_send(int stage, int micro_batch) override;
  Buffer gradient_to_send(int stage, int micro_batch) override;
  void sent_activation(int /*stage*/, int /*micro_batch*/) override {}
  void sent_gradient(int /*stage*/, int /*micro_batch*/) override {}
  void hand_on_activation(int /*stage*/, int /*micro_batch*/) override {}
  void hand_on_gradient(int /*stage*/, int /*micro_batch*/) override {}

  std::vector<Buffer> gradients(int stage) override;
  Buffer tied_gradient(int tie, int stage) override;
  void add_tied_gradient(int /*tie*/, int /*from_stage*/, int /*to_stage*/) override {}
  void copy_tied_gradient(int /*tie*/, int /*from_stage*/, int /*to_stage*/) override {}

  NormShare norm_share() override;
  void set_global_norm(const NormShare& /*all*/) override { clock_.sleep_until(norm_ends_); }
  void optimize(int stage) override;
  std::vector<Buffer> parameters_to_gather(int stage) override;
  void gathered(int /*stage*/) override {}
  std::unique_ptr<SlotCopy> copy(ActionKind kind, int stage, SteadyTime ready,
                                 const std::vector<const SlotCopy*>& after) override;

 private:
  enum class Way { kActivationIn, kActivationOut, kGradientIn, kGradientOut };
  [[nodiscard]] Buffer of_boundary(Way way, int stage, int micro_batch);
  [[nodiscard]] Buffer of_weights(int stage);

  void sleep(Duration duration) { clock_.sleep_until(clock_.now() + duration); }

  std::shared_ptr<const VirtualDurations> durations_;
  RankClock& clock_;
  std::optional<VirtualSlowness> slow_;
  bool is_slow_ = false;  // in this step
  SteadyTime norm_ends_{};
  std::map<std::tuple<Way, int, int>, float> boundaries_;  // by stage and micro-batch
  std::map<int, std::vector<float>> weights_;              // by stage, one element per holder
  std::map<std::pair<int, int>, float> tied_;              // by tie and stage
};

}  // namespace penstock
