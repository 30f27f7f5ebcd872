// RankLiveness keeps vectors in vectors, which is right for one plan and too much for the thousands
// that a search keeps. Here all counts of a schedule lie in a few arrays, one row per peak of a
// rank with one count per chunk. begin_ranks() lays the rows out, add_peaks() fills them, and what
// single stages hold is derived from the rows of their rank (sorted, each count once), so that a
// bound on one stage needs no look at the others.
#include "simulator/held_counts.h"

#include <algorithm>

#include "simulator/fullest_peaks.h"

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
    const std::vector<std::size_t> fullest = fullest_peaks(from.peaks);
    to.peaks = fullest.size();
    for (const std::size_t i : fullest) {
      const LiveCounts& peak = from.peaks[i];
      for (std::size_t c = 0; c < to.chunks; ++c) {
        held_.push_back({peak.stash[c], peak.weight_stash[c]});
      }
    }
    add_overlaps(r, from.overlaps);
    for (std::size_t c = 0; c < to.chunks; ++c) {
      stages_[static_cast<std::size_t>(from.stages[c])].transfers = {
          from.activation_receives[c], from.gradient_receives[c], from.sends_activation[c] ? 1 : 0,
          from.sends_gradient[c] ? 1 : 0};
    }
    add_peaks_of_stages(r);
  }
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

std::vector<std::size_t> HeldCounts::chunk_of_stage() const {
  std::vector<std::size_t> chunk_of_stage(stages());
  for (std::size_t r = 0; r < ranks(); ++r) {
    const auto stages = stages_of(r);
    for (std::size_t c = 0; c < stages.size(); ++c) {
      chunk_of_stage[static_cast<std::size_t>(stages[c])] = c;
    }
  }
  return chunk_of_stage;
}

void HeldCounts::add_peaks(std::size_t rank, std::span<const Held> held, std::size_t peaks) {
  ranks_[rank].first_held = held_.size();
  ranks_[rank].peaks = peaks;
  held_.insert(held_.end(), held.begin(), held.end());
}

void HeldCounts::add_overlaps(std::size_t rank,
                              std::span<const std::pair<std::size_t, std::size_t>> overlaps) {
  ranks_[rank].first_overlap = overlaps_.size();
  ranks_[rank].overlaps = overlaps.size();
  overlaps_.insert(overlaps_.end(), overlaps.begin(), overlaps.end());
}

HeldCounts::Transfers HeldCounts::any_transfers(const Schedule& schedule, int stage) {
  const auto rank_of = [&](int of) { return schedule.rank_of_stage[static_cast<std::size_t>(of)]; };
  const bool before = schedule.has_previous(stage) && rank_of(stage - 1) != rank_of(stage);
  const bool behind = schedule.has_next(stage) && rank_of(stage + 1) != rank_of(stage);
  Transfers transfers;
  transfers.activation_receives = transfers.gradient_sends = before ? 1 : 0;
  transfers.gradient_receives = transfers.activation_sends = behind ? 1 : 0;
  return transfers;
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
