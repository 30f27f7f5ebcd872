// A model in which everything is exact: numbers are int64 that wrap around, so sums are the same in
// any order, and losses, gradients and weights of a run are known to the bit from a plain loop over
// samples. A RankWork of it complains about every call that comes out of turn.
//
// Section k has the weights w[k][0..n). Of a sample x it makes c x, with c = 1 w[k][0] + 2 w[k][1]
// +
// ... + the tied weights that it shares. Sample i of a step has x = 3 + 17 step + i, and its loss
// is (i + 1) y.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "training/rank_setup.h"
#include "training/rank_work.h"

namespace penstock::testing {

using Numbers = std::vector<std::int64_t>;

struct RingModel {
  int sections = 1;
  struct Tie {
    std::string name;
    std::vector<int> sections;
  };
  std::vector<Tie> ties;
};

struct RingWeights {
  std::vector<Numbers> sections;  // [section]
  Numbers ties;                   // [tie]
  bool operator==(const RingWeights&) const = default;
};
RingWeights first_weights(const RingModel& model);

// What all ranks must agree on after a step. Norm and loss are sums of small parts of the true
// numbers, so that a double holds them exactly.
struct RingStep {
  NormShare all;
  RingWeights weights;
};
// `normed`: the step has a NORM, and the update depends on it.
RingStep plain_step(const RingModel& model, const RingWeights& weights, std::int64_t step,
                    int samples, bool normed);

class RingWork : public RankWork {
 public:
  RingWork(const RingModel& model, const RankSetup& setup);

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

  [[nodiscard]] OfStage& of(int stage);
  [[nodiscard]] std::int64_t& at(std::vector<Numbers>& buckets, const OfStage& stage,
                                 std::size_t place) const;
  [[nodiscard]] std::int64_t weight(OfStage& stage, int section, std::size_t index);
  [[nodiscard]] std::int64_t factor(OfStage& stage, int section);
  [[nodiscard]] bool is_shared(int tie) const;
  void forward(int stage, int micro_batch);
  void input_gradient(int stage, int micro_batch);
  void weight_gradient(int stage, int micro_batch);
  // The part of a bucket that this holder keeps.
  [[nodiscard]] std::pair<std::size_t, std::size_t> own_part(const OfStage& stage,
                                                             const Numbers& bucket) const;

  const RingModel& model_;
  RankSetup setup_;
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
