// Memory of every rank: bytes per activation (prices) times activations held (liveness), plus what
// a rank keeps for the whole step. docs/cost_model.md, "Memory".
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

// What the stages of a schedule hold, whatever the bytes: liveness by rank, and by stage alone.
struct StageCounts {
  std::vector<std::pair<std::int64_t, std::int64_t>> peaks;  // (stash, weight stash)
  std::int64_t activation_receives = 0, gradient_receives = 0;
  std::int64_t activation_sends = 0, gradient_sends = 0;
};
struct HeldCounts {
  explicit HeldCounts(std::vector<RankLiveness> liveness);
  std::vector<RankLiveness> ranks;
  std::vector<StageCounts> stages;
};

// The same for one stage per rank before the cuts are known: what partition() asks.
class StageMemory : public StageLimit {
 public:
  StageMemory(const SectionSums& sums, const TiedParameters& ties, const TrainingState& training,
              int optimizer_shards, const HeldCounts& held, Bytes reserve, Bytes capacity);

  // One stage's total when stage `stage` holds sections [first, end).
  [[nodiscard]] Bytes total(int stage, int first, int end) const;
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    return total(stage, first, end) <= capacity_;
  }
  [[nodiscard]] bool is_monotone() const override { return monotone_; }
  [[nodiscard]] bool every_section_fits() const override {
    return every_section_within(capacity_ - reserve_);
  }
  // Whether no stage takes more than `most` beyond the reserve for any single section.
  [[nodiscard]] bool every_section_within(Bytes most) const;
  // What a rank with several stages holds under these cuts (as memory_of_ranks() of full-size
  // micro-batches would say).
  [[nodiscard]] Bytes total_of_rank(std::size_t rank, const std::vector<int>& cuts) const;
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  [[nodiscard]] Bytes reserve() const { return reserve_; }

 private:
  [[nodiscard]] std::int64_t state(int first, int end) const;
  [[nodiscard]] std::int64_t peak(const StageCounts& counts, int first, int end) const;
  [[nodiscard]] std::int64_t buffers(const StageCounts& counts, int first, int end) const;

  const SectionSums& sums_;
  const TiedParameters& ties_;
  const TrainingState& training_;
  std::int64_t shards_;
  const HeldCounts& held_;
  Bytes reserve_, capacity_;
  bool monotone_;
};

}  // namespace penstock
