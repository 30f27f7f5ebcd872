#include "search/run_totals.h"

#include <algorithm>

namespace penstock {

RunTotals::RunTotals(const StageMemory& memory, std::size_t rank) : memory_(memory), rank_(rank) {
  const HeldCounts& held = memory.held();
  chunks_.reserve(held.stages_of(rank).size());
  for (const int stage : held.stages_of(rank)) chunks_.push_back({stage, {}});
  peaks_.resize(held.peaks(rank));
  counts_.reserve(peaks_.size() * chunks_.size());
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    for (std::size_t i = 0; i < peaks_.size(); ++i) counts_.push_back(held.peak(rank, i)[c]);
  }
}

RunTotals::Chunk RunTotals::with_run(const Chunk& before, StageMemory::Run run) const {
  Chunk chunk{before.stage, run};
  if (run.first == run.end) return chunk;
  const SectionSums& sums = memory_.sums_of_rank(rank_);
  const auto first = static_cast<std::size_t>(run.first), end = static_cast<std::size_t>(run.end);
  chunk.kept = memory_.for_the_step(chunk.stage, run.first, run.end).count;
  chunk.working = sums.working_peak_of(run.first, run.end);
  chunk.stash = sums.stash[end] - sums.stash[first];
  chunk.weight_stash = sums.weight_stash[end] - sums.weight_stash[first];
  if (memory_.has_short_last()) chunk.less = memory_.less_of_last(rank_, run);
  return chunk;
}

void RunTotals::set(std::size_t chunk, StageMemory::Run run) {
  Chunk& now = chunks_[chunk];
  if (run == now.run) return;
  const Chunk then = with_run(now, run);
  const std::int64_t stash = then.stash - now.stash;
  const std::int64_t weight_stash = then.weight_stash - now.weight_stash;
  kept_ += then.kept - now.kept;
  if (memory_.has_short_last()) save_by_last(chunk, then.less);
  now = then;
  const Held* counts = counts_.data() + chunk * peaks_.size();
  std::int64_t fullest = 0;
  for (std::size_t i = 0; i < peaks_.size(); ++i) {
    peaks_[i] += counts[i].stash * stash + counts[i].weight_stash * weight_stash;
    fullest = std::max(fullest, peaks_[i]);
  }
  fullest_ = fullest;
}

// A short last micro-batch, where it is held.
void RunTotals::save_by_last(std::size_t chunk, const StageMemory::Less& then) {
  const Held* counts = counts_.data() + chunk * peaks_.size();
  for (std::size_t i = 0; i < peaks_.size(); ++i) {
    peaks_[i] += memory_.saved_by_last(counts[i], chunks_[chunk].less) -
                 memory_.saved_by_last(counts[i], then);
  }
}

Bytes RunTotals::total() const {
  std::int64_t working = 0;
  for (const Chunk& chunk : chunks_) working = std::max(working, chunk.working);
  for (const auto& [a, b] : memory_.held().overlaps(rank_)) {
    working = std::max(working, chunks_[a].working + chunks_[b].working);
  }
  return Bytes{kept_ + fullest_ + working} + memory_.reserve_of(chunks_.front().stage);
}

}  // namespace penstock
