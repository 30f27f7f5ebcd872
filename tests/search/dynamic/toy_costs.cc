#include "tests/search/dynamic/toy_costs.h"

#include <algorithm>

#include "tests/simulator/pipelines.h"

namespace penstock::testing {

ShapeCost ToyCosts::cost_of(const MicroBatchShape& shape) const {
  ShapeCost cost;
  const std::int64_t tokens = shape.samples * (std::int64_t{shape.tokens} + shape.decoder_tokens);
  if (tokens > numbers_.most_tokens) {
    cost.status = ShapeStatus::kOutOfMemory;
    cost.why_not = "ran out of memory";
    return cost;
  }
  cost.prices.stages = layout_.stages();
  for (int s = 0; s < layout_.stages(); ++s) {
    const auto stage = static_cast<std::size_t>(s);
    const std::int64_t tenths = 10 + (stage < numbers_.slower.size() ? numbers_.slower[stage] : 0);
    const std::int64_t forward = (numbers_.fixed_ns + tokens * numbers_.per_token_ns) * tenths / 10;
    ComputePrice price;
    price.forward.duration = Duration{forward};
    const std::int64_t odd = shape.samples % 2 * numbers_.odd_backward_ns;
    price.fused_backward.duration = Duration{forward * numbers_.backward + odd};
    price.weight_gradient.duration = price.fused_backward.duration / 2;
    price.input_gradient.duration = price.fused_backward.duration - price.weight_gradient.duration;
    price.recompute.duration = Duration{tokens * numbers_.recompute_ns};
    price.stash = Bytes{tokens * numbers_.stash_per_token};
    price.working_peak = price.stash * numbers_.working;
    price.boundary = Bytes{tokens};
    cost.prices.compute.push_back(price);
    TransferPrice transfer;
    if (s + 1 < layout_.stages() && layout_.rank_of(s) != layout_.rank_of(s + 1)) {
      transfer.activation.duration = transfer.gradient.duration = Duration{numbers_.transfer_ns};
    }
    cost.prices.transfer.push_back(transfer);
  }
  return cost;
}

std::vector<ShapeCost> ToyCosts::costs_of(const std::vector<MicroBatchShape>& shapes) const {
  std::vector<ShapeCost> costs;
  for (const MicroBatchShape& shape : shapes) costs.push_back(cost_of(shape));
  return costs;
}

StagePricing ToyCosts::step_pricing() const {
  StagePricing pricing;
  pricing.prices.stages = layout_.stages();
  pricing.prices.shapes = 0;
  StepPrice step;
  step.parameters = Bytes{numbers_.state};
  step.reduce_gradient.duration = Duration{numbers_.reduce_ns};
  pricing.prices.step.assign(static_cast<std::size_t>(layout_.stages()), step);
  pricing.boundary_level.assign(static_cast<std::size_t>(layout_.stages() - 1), 0);
  return pricing;
}

StagePricing ToyCosts::prices_of(const Plan& plan) const {
  StagePricing pricing = step_pricing();
  const std::vector<ShapeCost> costs = costs_of(micro_batch_shapes(plan));
  pricing.prices.shapes = static_cast<int>(costs.size());
  for (int s = 0; s < layout_.stages(); ++s) {
    for (const ShapeCost& cost : costs) {
      pricing.prices.compute.push_back(cost.prices.compute_of(s, 0));
      pricing.prices.transfer.push_back(cost.prices.transfer_of(s, 0));
    }
  }
  return pricing;
}

Plan toy_layout(int pipeline, int chunks, int data) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.chunks = chunks;
  plan.data = data;
  plan.device = "toy";
  for (int s = 0; s <= plan.stages(); ++s) plan.cuts.push_back(s);
  return plan;
}

Toy random_toy(Random& random, int most_reduce_ns) {
  const int p = random.between(1, 4), v = random.between(1, 3) == 1 && p > 1 ? 2 : 1;
  Plan layout = testing::toy_layout(p, v, random.between(1, 3));
  if (v == 2 && random.coin()) layout.stage_map = StageMap::kV;
  ToyNumbers numbers;
  numbers.fixed_ns = random.between(0, 5'000);
  numbers.per_token_ns = random.between(1, 50);
  numbers.transfer_ns = random.between(0, 2'000);
  numbers.working = random.between(0, 2);
  numbers.state = random.between(0, 500);
  if (most_reduce_ns > 0) numbers.reduce_ns = random.between(0, most_reduce_ns);
  for (int s = 0; s < layout.stages(); ++s) numbers.slower.push_back(random.between(0, 5));
  if (random.coin()) numbers.odd_backward_ns = random.between(0, 20'000);
  return {layout, numbers, kPlenty};
}

LengthBatch random_lengths(std::uint64_t seed, std::size_t samples, int most) {
  Random random(seed);
  LengthBatch batch;
  for (std::size_t i = 0; i < samples; ++i) {
    const int longest = random.between(1, 4) == 1 ? most : (most + 3) / 4;
    batch.push_back({random.between(2, std::max(3, longest)), 0});
  }
  return batch;
}

}  // namespace penstock::testing
