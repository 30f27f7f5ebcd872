#include "simulator/held_counts.h"

#include <algorithm>

namespace penstock {

HeldCounts::HeldCounts(const std::vector<RankLiveness>& ranks) {
  std::size_t stages = 0;
  for (const RankLiveness& rank : ranks) stages += rank.stages.size();
  std::vector<int> rank_of_stage(stages);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const int stage : ranks[r].stages) {
      rank_of_stage[static_cast<std::size_t>(stage)] = static_cast<int>(r);
    }
  }
  begin_ranks(rank_of_stage, ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankLiveness& from = ranks[r];
    Rank& to = ranks_[r];
    to.first_held = held_.size();
    to.peaks = from.peaks.size();
    for (const LiveCounts& peak : from.peaks) {
      for (std::size_t c = 0; c < to.chunks; ++c) {
        held_.push_back({peak.stash[c], peak.weight_stash[c]});
      }
    }
    to.first_overlap = overlaps_.size();
    to.overlaps = from.overlaps.size();
    overlaps_.insert(overlaps_.end(), from.overlaps.begin(), from.overlaps.end());
    for (std::size_t c = 0; c < to.chunks; ++c) {
      stages_[static_cast<std::size_t>(from.stages[c])].transfers = {
          from.activation_receives[c], from.gradient_receives[c], from.sends_activation[c] ? 1 : 0,
          from.sends_gradient[c] ? 1 : 0};
    }
    add_peaks_of_stages(r);
  }
}

std::span<const int> HeldCounts::stages_of(std::size_t rank) const {
  return {rank_stages_.data() + ranks_[rank].first_stage, ranks_[rank].chunks};
}

std::span<const Held> HeldCounts::peak(std::size_t rank, std::size_t index) const {
  const Rank& of = ranks_[rank];
  return {held_.data() + of.first_held + index * of.chunks, of.chunks};
}

std::span<const std::pair<std::size_t, std::size_t>> HeldCounts::overlaps(std::size_t rank) const {
  return {overlaps_.data() + ranks_[rank].first_overlap, ranks_[rank].overlaps};
}

std::span<const Held> HeldCounts::peaks_of_stage(int stage) const {
  const Stage& of = stages_[static_cast<std::size_t>(stage)];
  return {stage_peaks_.data() + of.first_peak, of.peaks};
}

// Every rank's stages, ascending.
void HeldCounts::begin_ranks(const std::vector<int>& rank_of_stage, std::size_t ranks) {
  ranks_.resize(ranks);
  stages_.resize(rank_of_stage.size());
  rank_stages_.resize(rank_of_stage.size());
  for (const int rank : rank_of_stage) ++ranks_[static_cast<std::size_t>(rank)].chunks;
  for (std::size_t r = 1; r < ranks; ++r) {
    ranks_[r].first_stage = ranks_[r - 1].first_stage + ranks_[r - 1].chunks;
  }
  std::vector<std::size_t> filled(ranks, 0);
  for (std::size_t s = 0; s < rank_of_stage.size(); ++s) {
    const auto rank = static_cast<std::size_t>(rank_of_stage[s]);
    rank_stages_[ranks_[rank].first_stage + filled[rank]++] = static_cast<int>(s);
  }
}

// Once the peaks of the rank are known.
void HeldCounts::add_peaks_of_stages(std::size_t rank) {
  const auto stages = stages_of(rank);
  for (std::size_t c = 0; c < stages.size(); ++c) {
    Stage& of = stages_[static_cast<std::size_t>(stages[c])];
    of.first_peak = stage_peaks_.size();
    for (std::size_t i = 0; i < ranks_[rank].peaks; ++i) {
      stage_peaks_.push_back(peak(rank, i)[c]);
    }
    const auto first = stage_peaks_.begin() + static_cast<std::ptrdiff_t>(of.first_peak);
    std::sort(first, stage_peaks_.end());
    stage_peaks_.erase(std::unique(first, stage_peaks_.end()), stage_peaks_.end());
    of.peaks = stage_peaks_.size() - of.first_peak;
    if (of.peaks > 0) of.most_stash = std::max(of.most_stash, stage_peaks_.back().stash);
  }
}

}  // namespace penstock
