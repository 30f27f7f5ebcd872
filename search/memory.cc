#include "search/memory.h"

#include <algorithm>
#include <bit>

namespace penstock {
namespace {

Bytes largest(const StagePrices& prices, int stage, Bytes ComputePrice::*member) {
  Bytes most;
  for (int shape = 0; shape < prices.shapes; ++shape) {
    most = std::max(most, prices.compute_of(stage, shape).*member);
  }
  return most;
}

Bytes stash_peak(const StagePrices& prices, const RankLiveness& rank) {
  Bytes peak;
  for (const LiveCounts& counts : rank.peaks) {
    Bytes sum;
    for (std::size_t c = 0; c < rank.stages.size(); ++c) {
      sum += largest(prices, rank.stages[c], &ComputePrice::stash) * counts.stash[c];
      sum += largest(prices, rank.stages[c], &ComputePrice::weight_stash) * counts.weight_stash[c];
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

// Buffers of the transfers over both boundaries of every stage of the rank.
Bytes buffers(const StagePrices& prices, const RankLiveness& rank) {
  Bytes sum;
  for (std::size_t c = 0; c < rank.stages.size(); ++c) {
    const int stage = rank.stages[c];
    const Bytes own = largest(prices, stage, &ComputePrice::boundary);
    sum += own * (rank.gradient_receives[c] + (rank.sends_activation[c] ? 1 : 0));
    if (stage == 0) continue;
    const Bytes before = largest(prices, stage - 1, &ComputePrice::boundary);
    sum += before * (rank.activation_receives[c] + (rank.sends_gradient[c] ? 1 : 0));
  }
  return sum;
}

}  // namespace

std::vector<MemoryUse> memory_of_ranks(const StagePrices& prices,
                                       const std::vector<RankLiveness>& liveness, Bytes reserve) {
  std::vector<MemoryUse> ranks;
  for (const RankLiveness& rank : liveness) {
    MemoryUse use;
    for (const int stage : rank.stages) {
      const StepPrice& step = prices.step[static_cast<std::size_t>(stage)];
      use.parameters += step.parameters;
      use.gradients += step.gradients;
      use.optimizer_state += step.optimizer_state;
      use.working_peak =
          std::max(use.working_peak, largest(prices, stage, &ComputePrice::working_peak));
    }
    use.stash = stash_peak(prices, rank);
    use.communication = buffers(prices, rank);
    use.reserve = reserve;
    ranks.push_back(use);
  }
  return ranks;
}

StageMemory::StageMemory(const SectionSums& sums, const TiedParameters& ties,
                         const TrainingState& training, int optimizer_shards,
                         const std::vector<RankLiveness>& liveness, Bytes reserve, Bytes capacity)
    : sums_(sums),
      ties_(ties),
      training_(training),
      shards_(optimizer_shards),
      reserve_(reserve),
      capacity_(capacity) {
  std::size_t stages = 0;
  for (const RankLiveness& rank : liveness) stages += rank.stages.size();
  stages_.resize(stages);
  for (const RankLiveness& rank : liveness) {
    for (std::size_t c = 0; c < rank.stages.size(); ++c) {
      Counts& counts = stages_[static_cast<std::size_t>(rank.stages[c])];
      for (const LiveCounts& peak : rank.peaks) {
        counts.peaks.emplace_back(peak.stash[c], peak.weight_stash[c]);
      }
      std::sort(counts.peaks.begin(), counts.peaks.end());
      counts.peaks.erase(std::unique(counts.peaks.begin(), counts.peaks.end()),
                         counts.peaks.end());
      counts.activation_receives = rank.activation_receives[c];
      counts.gradient_receives = rank.gradient_receives[c];
      counts.activation_sends = rank.sends_activation[c] ? 1 : 0;
      counts.gradient_sends = rank.sends_gradient[c] ? 1 : 0;
    }
  }
  longest_working_.push_back(sums.working_peak);
  for (std::size_t width = 1; 2 * width <= sums.working_peak.size(); width *= 2) {
    const auto& before = longest_working_.back();
    std::vector<std::int64_t> level;
    for (std::size_t i = 0; i + 2 * width <= sums.working_peak.size(); ++i) {
      level.push_back(std::max(before[i], before[i + width]));
    }
    longest_working_.push_back(std::move(level));
  }
}

Bytes StageMemory::total(int stage, int first, int end) const {
  const auto f = static_cast<std::size_t>(first);
  const auto e = static_cast<std::size_t>(end);
  const Counts& counts = stages_[static_cast<std::size_t>(stage)];
  const std::int64_t parameters =
      sums_.parameters[e] - sums_.parameters[f] - ties_.repeated(first, end);
  const std::int64_t optimizer =
      (parameters * training_.optimizer_bytes_per_parameter.count + shards_ - 1) / shards_;
  const std::int64_t state =
      parameters * (training_.bytes_per_parameter.count + training_.bytes_per_gradient.count) +
      optimizer;
  const std::int64_t stash = sums_.stash[e] - sums_.stash[f];
  const std::int64_t weight_stash = sums_.weight_stash[e] - sums_.weight_stash[f];
  std::int64_t peak = 0;
  for (const auto& [held, held_for_weights] : counts.peaks) {
    peak = std::max(peak, held * stash + held_for_weights * weight_stash);
  }
  const auto level = static_cast<std::size_t>(std::bit_width(e - f) - 1);
  const auto& maxima = longest_working_[level];
  const std::int64_t working = std::max(maxima[f], maxima[e - (std::size_t{1} << level)]);
  std::int64_t buffers =
      sums_.boundary[e - 1] * (counts.gradient_receives + counts.activation_sends);
  if (first > 0) {
    buffers += sums_.boundary[f - 1] * (counts.activation_receives + counts.gradient_sends);
  }
  return Bytes{state + peak + working + buffers} + reserve_;
}

}  // namespace penstock
