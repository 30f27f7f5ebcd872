// Memory of every rank: bytes per activation (prices) times activations held (liveness), plus what a
// rank keeps for the whole step. docs/cost_model.md, "Memory".
#pragma once

#include <vector>

#include "core/evaluation.h"
#include "core/stage_prices.h"
#include "search/partition.h"
#include "search/section_sums.h"
#include "simulator/liveness.h"

namespace penstock {

// One entry per rank of the first pipeline. Every micro-batch counts at its stage's largest shape.
std::vector<MemoryUse> memory_of_ranks(const StagePrices& prices,
                                       const std::vector<RankLiveness>& liveness, Bytes reserve);

// The same for one stage per rank before the cuts are known: what partition() asks.
class StageMemory : public StageLimit {
 public:
  StageMemory(const SectionSums& sums, const TiedParameters& ties, const TrainingState& training,
              int optimizer_shards, const std::vector<RankLiveness>& liveness, Bytes reserve,
              Bytes capacity);

  // One stage's total when stage `stage` holds sections [first, end).
  [[nodiscard]] Bytes total(int stage, int first, int end) const;
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    return total(stage, first, end) <= capacity_;
  }
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  [[nodiscard]] Bytes reserve() const { return reserve_; }

 private:
  // Counts of one chunk; for several chunks per rank those of the chunk, each at its own worst.
  struct Counts {
    std::vector<std::pair<std::int64_t, std::int64_t>> peaks;  // (stash, weight stash)
    std::int64_t activation_receives = 0, gradient_receives = 0;
    std::int64_t activation_sends = 0, gradient_sends = 0;
  };

  const SectionSums& sums_;
  const TiedParameters& ties_;
  const TrainingState& training_;
  std::int64_t shards_;
  std::vector<Counts> stages_;
  std::vector<std::vector<std::int64_t>> longest_working_;  // sparse table of range maxima
  Bytes reserve_, capacity_;
};

}  // namespace penstock
