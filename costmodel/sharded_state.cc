#include "costmodel/sharded_state.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::int64_t kMasterBytes = 4;  // of a weight, and of its gradient shard beside it

// A search divides so often that what is nothing, or whole, must not cost a division.
std::int64_t rounded_up(std::int64_t count, std::int64_t parts) {
  return count == 0 || parts == 1 ? count : (count + parts - 1) / parts;
}
std::int64_t rounded_down(std::int64_t count, std::int64_t parts) {
  return count == 0 || parts == 1 ? count : count / parts;
}

}  // namespace

ShardedState::ShardedState(const TrainingState& training, const Plan& plan)
    : ShardedState(training, plan.shards()) {
  expert_shards_ = plan.has_expert_grid() ? plan.expert_shards() : shards_;
  if (plan.offload_optimizer) divided_.optimizer = 0;
  const std::int64_t weight = training.bytes_per_parameter.count;
  const std::int64_t gradient = training.bytes_per_gradient.count;
  const std::int64_t optimizer = training.optimizer_bytes_per_parameter.count;
  if (shards_ < 2 || plan.sharding == Sharding::kState) return;
  reduced_ = gradient;
  unreduced_ = gradient;
  if (plan.sharding == Sharding::kFsdp) {
    // The shards in 32 bits are the master copy, and so are those of gradients.
    const bool has_master = weight < kMasterBytes && optimizer >= kMasterBytes;
    divided_ = {has_master ? kMasterBytes : weight, std::max(gradient, kMasterBytes),
                has_master ? optimizer - kMasterBytes : optimizer};
    unreduced_ = weight;  // gradients have the type of the gathered weights until they are reduced
    gathered_ = weight;
    if (plan.pipeline > 1) {  // gathered for the whole step, and reduced at its end
      gathered_ = reduced_ = unreduced_ = 0;
    } else {
      whole_ = {};
    }
    return;
  }
  divided_.gradients = gradient;
  whole_.gradients = 0;
  if (plan.sharding != Sharding::kParameters) return;
  divided_.parameters = weight;
  whole_.parameters = 0;
  gathered_ = weight;
}

ShardedState::ShardedState(const TrainingState& training, int optimizer_shards)
    : whole_{training.bytes_per_parameter.count, training.bytes_per_gradient.count, 0},
      divided_{0, 0, training.optimizer_bytes_per_parameter.count},
      shards_(optimizer_shards),
      expert_shards_(optimizer_shards) {}

StateBytes ShardedState::of(const HeldParameters& parameters) const {
  const std::int64_t experts = parameters.experts, rest = parameters.all - experts;
  const auto bytes = [&](std::int64_t StateBytes::*part) {
    const std::int64_t divided = rounded_up(rest * divided_.*part, shards_) +
                                 rounded_up(experts * divided_.*part, expert_shards_);
    return parameters.all * whole_.*part + divided;
  };
  return {bytes(&StateBytes::parameters), bytes(&StateBytes::gradients),
          bytes(&StateBytes::optimizer)};
}

std::int64_t ShardedState::least_of(const HeldParameters& parameters) const {
  const std::int64_t experts = parameters.experts, rest = parameters.all - experts;
  std::int64_t least = parameters.all * whole_.sum();
  for (const std::int64_t bytes : {divided_.parameters, divided_.gradients, divided_.optimizer}) {
    least += rounded_down(rest * bytes, shards_) + rounded_down(experts * bytes, expert_shards_);
  }
  return least;
}

// In the backward the weights of `own` and the buffer that gathers `before` are there, the
// gradients of `own`, and what is reduced of `behind`; then what is reduced of `own` beside
// the weights of `before`, gathered, and the buffer that gathers the one before that, which is
// taken to be as large (PyTorch, torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py).
std::int64_t ShardedState::buffers(std::int64_t before, std::int64_t own,
                                   std::int64_t behind) const {
  const std::int64_t during =
      own * (gathered_ + unreduced_) + before * gathered_ + behind * reduced_;
  const std::int64_t after = own * (unreduced_ + reduced_) + 2 * before * gathered_;
  return std::max(during, after);
}

}  // namespace penstock
