// A RankWork of a RingModel that complains about every call that comes out of turn.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tests/runtime_bridge/ring_model.h"
#include "tests/runtime_bridge/ring_state.h"
#include "training/rank_setup.h"
#include "training/rank_work.h"

namespace penstock::testing {

class RingWork : public RankWork {
 public:
  // With the first weights.
  RingWork(const RingModel& model, const RankSetup& setup);
  // With those of `state`, which has them back when the work ends, or by give_back().
  RingWork(const RingModel& model, const RankSetup& setup, RingState& state);
  ~RingWork() override;
  RingWork(const RingWork&) = delete;
  RingWork& operator=(const RingWork&) = delete;

  void give_back();

  // Of a stage, with the sections' own order.
  [[nodiscard]] Numbers section_weights(int section) const;
  [[nodiscard]] std::int64_t tied_weight(int tie, int stage) const;
  // Nothing is held of any micro-batch.
  [[nodiscard]] bool is_empty() const;

  void begin_step(std::int64_t step) override;
  void compute(ActionKind kind, int stage, int micro_batch) override;
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
  void set_global_norm(const NormShare& all) override;
  void optimize(int stage) override;
  std::vector<Buffer> parameters_to_gather(int stage) override;
  void gathered(int stage) override;

 private:
  using Key = std::pair<int, int>;  // stage and micro-batch
  // Two buckets, each filled up so that the holders share it evenly.
  struct OfStage {
    StageSetup setup;
    std::vector<std::pair<int, std::size_t>> places;  // (section, weight); (-1 - tie, 0)
    std::vector<Numbers> weights, gradients;          // [bucket]
  };

  [[nodiscard]] OfStage first_of_stage(const StageSetup& setup, const RingWeights& weights) const;
  [[nodiscard]] OfStage& of(int stage);
  [[nodiscard]] std::int64_t& at(std::vector<Numbers>& buckets, const OfStage& stage,
                                 std::size_t place) const;
  [[nodiscard]] std::int64_t weight(OfStage& stage, int section, std::size_t index);
  [[nodiscard]] std::int64_t factor(OfStage& stage, int section);
  [[nodiscard]] bool is_shared(int tie) const;
  [[nodiscard]] std::size_t of_model(int tie) const;  // of the setup's ties
  [[nodiscard]] std::int64_t shares(std::size_t tie, int k) const;
  void forward(int stage, int micro_batch);
  void input_gradient(int stage, int micro_batch);
  void weight_gradient(int stage, int micro_batch);
  void add_slope(OfStage& stage, int k, std::int64_t slope);
  // The part of a bucket that this holder keeps.
  [[nodiscard]] std::pair<std::size_t, std::size_t> own_part(const OfStage& stage,
                                                             const Numbers& bucket) const;

  RingWork(const RingModel& model, const RankSetup& setup, const RingWeights& weights,
           RingState* state);

  const RingModel& model_;
  RankSetup setup_;
  RingState* state_;
  std::int64_t step_ = 0;
  std::int64_t rate_ = 1;
  double loss_ = 0;
  std::vector<OfStage> stages_;
  std::map<std::pair<int, int>, std::int64_t> tied_, tied_gradient_;  // by (tie, stage)
  std::map<Key, Numbers> inputs_, outputs_, output_gradients_, input_gradients_;
  std::map<Key, Numbers> kept_inputs_, kept_gradients_;
  std::set<Key> recomputed_;
};

}  // namespace penstock::testing
