// Where to cut a row of samples into micro-batches: the exact minimum of
//   (c - 1) / K * (longest micro-batch) + (sum of all micro-batches) / R
// over all partitions into feasible neighbouring ranges, for c stages in a row, K chunks per rank
// and R replicas. The first term fills and drains the pipeline, the second keeps it going.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace penstock {

inline constexpr double kInfeasible = std::numeric_limits<double>::infinity();

// What every range costs. Samples from which ranges cost the same whatever lies behind share a row.
struct RangeTimes {
  std::vector<std::uint32_t> row_of;  // by first sample
  std::vector<std::size_t> begin;     // rows + 1 offsets into `time`
  std::vector<double> time;           // by number of samples - 1; kInfeasible: must not be

  [[nodiscard]] std::size_t samples() const { return row_of.size(); }
  // Of ranges from `first` on, by length - 1; longer ones are infeasible.
  [[nodiscard]] std::span<const double> from(std::size_t first) const {
    const std::uint32_t row = row_of[first];
    const std::size_t length = begin[row + 1] - begin[row], left = samples() - first;
    return {time.data() + begin[row], length < left ? length : left};
  }
  [[nodiscard]] double of(std::size_t first, std::size_t end) const {
    const std::span<const double> row = from(first);
    return end - first <= row.size() ? row[end - first - 1] : kInfeasible;
  }
};

struct SplitWeights {
  int stages = 1;    // c
  int chunks = 1;    // K
  int replicas = 1;  // R
  [[nodiscard]] double objective(double longest, double sum) const {
    return (stages - 1) * longest / chunks + sum / replicas;
  }
};

struct Split {
  // Exclusive ends of the ranges, ascending, the last is the number of samples; empty when a sample
  // fits nowhere.
  std::vector<std::size_t> ends;
  double objective = kInfeasible, longest = 0.0, sum = 0.0;
  std::size_t fits_nowhere = 0;  // the first such sample
  std::int64_t evaluations = 0;  // of the bound on the longest
};

// Of equal objectives the one with the longer longest range, and of those the one whose first
// ranges are shortest: so what is best among more ranges and needs only some of them is best among
// those. `guess`: about what the longest range takes, where that is known; it saves evaluations.
Split split_exactly(const RangeTimes& times, const SplitWeights& weights, double guess = 0.0);

}  // namespace penstock
