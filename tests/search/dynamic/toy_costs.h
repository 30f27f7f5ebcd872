// Costs of shapes by a formula that a person can follow, for the tests of the batch planner.
#pragma once

#include <cstdint>
#include <vector>

#include "search/dynamic/plan_batch.h"
#include "search/dynamic/shape_costs.h"
#include "tests/simulator/pipelines.h"

namespace penstock::testing {

// Of every stage, for b samples of E tokens (encoder and decoder together): F takes
// `fixed_ns + b E per_token_ns`, B as long times `backward` (and `odd_backward_ns` more where b is
// odd, so that the shape that is first there need not be the first back), W half of B; a stash of b
// E `stash_per_token` bytes, the same times `working` on top; boundaries of b E bytes. `slower`
// says by how much a stage takes longer than the first. Shapes of more than `most_tokens` are said
// to have run out of memory.
struct ToyNumbers {
  std::int64_t fixed_ns = 1000, per_token_ns = 100;
  std::int64_t backward = 2, odd_backward_ns = 0;
  std::int64_t transfer_ns = 10;
  std::int64_t stash_per_token = 8, working = 0;
  std::int64_t state = 0;         // bytes of parameters per stage
  std::int64_t reduce_ns = 0;     // of its gradients, where there are replicas
  std::int64_t recompute_ns = 0;  // per token
  std::vector<int> slower;        // by stage, in tenths
  std::int64_t most_tokens = 1 << 30;
};

class ToyCosts : public ShapeCosts {
 public:
  ToyCosts(const Plan& layout, ToyNumbers numbers)
      : layout_(layout), numbers_(std::move(numbers)) {}

  [[nodiscard]] std::vector<ShapeCost> costs_of(
      const std::vector<MicroBatchShape>& shapes) const override;
  [[nodiscard]] StagePricing step_pricing() const override;
  [[nodiscard]] StagePricing prices_of(const Plan& plan) const override;

 private:
  [[nodiscard]] ShapeCost cost_of(const MicroBatchShape& shape) const;
  Plan layout_;
  ToyNumbers numbers_;
};

// P ranks of one stage, V chunks, D replicas.
Plan toy_layout(int pipeline, int chunks = 1, int data = 1);

inline constexpr std::int64_t kPlenty = 1'000'000'000;

// A question with costs of its own, which it points to: not to be moved.
struct Toy {
  Toy(const Plan& layout, const ToyNumbers& numbers, std::int64_t memory) : costs(layout, numbers) {
    question.layout = layout;
    question.recompute = {{"none", &costs}};
    question.capacity = Bytes{memory};
    question.rounding = {8, 0, 2, 1};
    question.replays = 200;
  }
  Toy(const Toy&) = delete;
  Toy& operator=(const Toy&) = delete;

  ToyCosts costs;
  BatchQuestion question;
};

// Of up to four ranks, two chunks and three replicas, with plenty of memory.
Toy random_toy(Random& random, int most_reduce_ns = 0);

// So many random lengths of up to `most` tokens, short ones more often.
LengthBatch random_lengths(std::uint64_t seed, std::size_t samples, int most);

}  // namespace penstock::testing
