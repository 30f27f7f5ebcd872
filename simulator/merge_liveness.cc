#include "simulator/merge_liveness.h"

#include <algorithm>

namespace penstock {
namespace {

void take_most(std::vector<std::int32_t>& counts, const std::vector<std::int32_t>& more) {
  for (std::size_t c = 0; c < counts.size(); ++c) counts[c] = std::max(counts[c], more[c]);
}

void take_either(std::vector<bool>& flags, const std::vector<bool>& more) {
  for (std::size_t c = 0; c < flags.size(); ++c) flags[c] = flags[c] || more[c];
}

void merge(RankLiveness& rank, const RankLiveness& more) {
  for (const LiveCounts& peak : more.peaks) {
    if (std::find(rank.peaks.begin(), rank.peaks.end(), peak) == rank.peaks.end()) {
      rank.peaks.push_back(peak);
    }
  }
  rank.peak_chunks = std::max(rank.peak_chunks, more.peak_chunks);
  take_most(rank.activation_receives, more.activation_receives);
  take_most(rank.gradient_receives, more.gradient_receives);
  take_either(rank.sends_activation, more.sends_activation);
  take_either(rank.sends_gradient, more.sends_gradient);
  for (const auto& pair : more.overlaps) {
    if (std::find(rank.overlaps.begin(), rank.overlaps.end(), pair) == rank.overlaps.end()) {
      rank.overlaps.push_back(pair);
    }
  }
  std::sort(rank.overlaps.begin(), rank.overlaps.end());
}

}  // namespace

void merge_liveness(std::vector<RankLiveness>& ranks, const std::vector<RankLiveness>& more) {
  for (std::size_t r = 0; r < ranks.size(); ++r) merge(ranks[r], more[r]);
}

std::vector<RankLiveness> merged_liveness(std::vector<RankLiveness> ranks, std::size_t listed) {
  for (std::size_t at = listed; at < ranks.size(); ++at) merge(ranks[at % listed], ranks[at]);
  ranks.resize(std::min(listed, ranks.size()));
  return ranks;
}

}  // namespace penstock
