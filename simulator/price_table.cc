#include "simulator/price_table.h"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

Duration tied_price(const Group& group, const std::vector<TiedPrice>& prices) {
  for (const TiedPrice& price : prices) {
    if (tied_group_name(price.name) == group.name) return price.reduce.duration;
  }
  throw_bad_input(fmt::format("prices: no tied_reduce price for group {}", group.name));
}

// By group. Those of one name (one per pipeline) share a price, in whatever order they stand.
std::vector<Duration> tied_prices(const Program& program, const StagePrices& prices) {
  std::vector<Duration> result(program.groups.size());
  for (std::size_t g = 0; g < program.groups.size(); ++g) {
    const Group& group = program.groups[g];
    if (group.kind != GroupKind::kTiedWeights) continue;
    result[g] = tied_price(group, prices.tied_reduce);
  }
  return result;
}

void check_sizes(const StagePrices& prices) {
  const auto stages = static_cast<std::size_t>(prices.stages);
  const std::size_t entries = stages * static_cast<std::size_t>(prices.shapes);
  if (prices.compute.size() == entries && prices.transfer.size() == entries &&
      prices.step.size() == stages) {
    return;
  }
  throw_bad_input(fmt::format(
      "prices: tables for {} stages and {} shapes need {} compute, {} transfer and {} step "
      "entries, found {}, {} and {}",
      stages, prices.shapes, entries, entries, stages, prices.compute.size(),
      prices.transfer.size(), prices.step.size()));
}

}  // namespace

PriceTable::PriceTable(const Program& program, const StagePrices& prices,
                       const ExecutorModel& executor)
    : one_shape_(prices.shapes == 1),
      shapes_(static_cast<std::size_t>(prices.shapes)),
      stride_(program.stages.size() * shapes_),
      entries_(first_tied()) {
  for (const Pipeline& pipeline : program.pipelines) {
    if (pipeline.stages != prices.stages) {
      throw_bad_input(
          fmt::format("prices: {} stages, but the program has {}", prices.stages, pipeline.stages));
    }
  }
  check_sizes(prices);
  for (const MicroBatch& micro_batch : program.micro_batches) {
    if (micro_batch.shape < 0 || micro_batch.shape >= prices.shapes) {
      throw_bad_input(fmt::format("prices: no prices for shape {}", micro_batch.shape));
    }
    if (!one_shape_) {
      shape_of_micro_batch_.push_back(static_cast<std::uint16_t>(micro_batch.shape));
    }
  }
  const Duration per_action = executor.per_action;
  const Duration per_transfer = executor.per_transfer;
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    const Pipeline& pipeline =
        program.pipelines[static_cast<std::size_t>(program.stages[s].pipeline)];
    const int stage = static_cast<int>(s) - pipeline.first_stage;
    for (std::size_t shape = 0; shape < shapes_; ++shape) {
      const auto set = [&](ActionKind kind, Duration duration) {
        entries_[static_cast<std::size_t>(kind) * stride_ + s * shapes_ + shape] = duration;
      };
      const int sh = static_cast<int>(shape);
      const ComputePrice& price = prices.compute_of(stage, sh);
      entries_[first_gain() + s * shapes_ + shape] = price.overlap_gain;
      set(ActionKind::kForward, price.forward.duration + per_action);
      set(ActionKind::kInputGradient, price.input_gradient.duration + per_action);
      set(ActionKind::kWeightGradient, price.weight_gradient.duration + per_action);
      set(ActionKind::kFusedBackward, price.fused_backward.duration + per_action);
      set(ActionKind::kRecompute, price.recompute.duration + per_action);
      set(ActionKind::kSendActivation,
          prices.transfer_of(stage, sh).activation.duration + per_transfer);
      if (stage > 0) {
        set(ActionKind::kSendGradient,
            prices.transfer_of(stage - 1, sh).gradient.duration + per_transfer);
      }
      const StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
      // The copies of a stage share these; what stands at the first of them counts.
      const StepPrice& shared =
          prices.step[static_cast<std::size_t>(stage % (pipeline.stages / pipeline.copies))];
      set(ActionKind::kReduceGradient, shared.reduce_gradient.duration);
      set(ActionKind::kUnshard, shared.unshard.duration);
      set(ActionKind::kOptimizer, step.optimizer.duration + per_action);
      set(ActionKind::kNorm, prices.norm.duration);
    }
  }
  const std::vector<Duration> tied = tied_prices(program, prices);
  entries_.insert(entries_.end(), tied.begin(), tied.end());
  check_sum(program.actions.size());
}

// No path is longer than all actions at the longest duration, one after the other.
void PriceTable::check_sum(std::size_t actions) const {
  std::int64_t longest = 1;
  for (const Duration d : entries_) longest = std::max(longest, d.count());
  const auto count = static_cast<std::int64_t>(actions) + 1;
  if (longest > std::numeric_limits<std::int64_t>::max() / 4 / count) {
    throw_bad_input(fmt::format(
        "prices: {} actions of up to {} ns could exceed what 64 bits hold; are the units right?",
        count, longest));
  }
}

}  // namespace penstock
