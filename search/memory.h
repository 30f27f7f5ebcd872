// Memory of every rank: bytes per activation (prices) times activations held (liveness), plus what
// a rank keeps for the whole step. docs/cost_model.md, "Memory".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/held_parameters.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "core/values/stage_prices.h"
#include "costmodel/sharded_state.h"
#include "search/partition.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"

namespace penstock {

// One entry per rank of one pipeline. Every micro-batch counts at its stage's largest shape.
std::vector<MemoryUse> memory_of_ranks(const StagePrices& prices, const HeldCounts& held,
                                       const PerRank<Bytes>& reserve);
// The same for every rank that `liveness` tells of, those of unequal replicas kind by kind, each at
// the largest of `shapes`, the rank's own (empty: all).
std::vector<MemoryUse> memory_of_ranks(const StagePrices& prices,
                                       const std::vector<RankLiveness>& liveness,
                                       const PerRank<Bytes>& reserve,
                                       const PerRank<ShapeRange>& shapes = ShapeRange{});

// A last micro-batch that is shorter than the others of its replica.
struct ShortLast {
  const SectionSums* sums = nullptr;  // of it, on any rank; null: there is none
  int micro_batches = 0;              // of the replica, it among them
};

// The same for one stage per rank before the cuts are known: what partition() asks. A stage that
// holds all micro-batches of a replica holds the short last one, too; where it holds fewer, all of
// them count as full.
class StageMemory : public StageLimit {
 public:
  StageMemory(const RankSums& sums, const TiedParameters& ties, const ShardedState& state,
              const HeldCounts& held, const PerRank<Bytes>& reserve, const PerRank<Bytes>& capacity,
              const ShortLast& last = {});

  // Keeps what runs of sections hold for the step once they are asked for: for one thread that asks
  // for the same ones again and again.
  void remember_states();
  // The same where layers differ. Where they are alike runs differ in few ways, which are kept
  // anyway, and a search that asks little would only clear a table.
  void remember_states_if_layers_differ() {
    if (!sums_[0].has_alike_layers) remember_states();
  }

  // One stage's total when stage `stage` holds sections [first, end).
  [[nodiscard]] Bytes total(int stage, int first, int end) const;
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    return total(stage, first, end) <= capacity_[rank_of(stage)];
  }
  [[nodiscard]] bool is_monotone() const override { return monotone_; }
  [[nodiscard]] bool every_section_fits(int stages) const override {
    return every_section_within(stages, 1);
  }
  // Whether none of so many stages takes more than such a part of what its device has beyond the
  // reserve for any single section that it could get.
  [[nodiscard]] bool every_section_within(int stages, int parts) const;
  // Whether one of so many stages can take none of the sections that it could get in such a part.
  // May say no when unsure.
  [[nodiscard]] bool some_stage_stays_empty(int stages, int parts) const;
  [[nodiscard]] bool is_hopeless(int stages) const override {
    return some_stage_stays_empty(stages, 1);
  }
  // What a rank with several stages holds under these cuts (as memory_of_ranks() of full-size
  // micro-batches would say).
  [[nodiscard]] Bytes total_of_rank(std::size_t rank, const std::vector<int>& cuts) const;
  // The same by what its stages hold, in their order. Empty runs hold nothing: so it is a lower
  // bound of whatever they come to hold where memory is monotone.
  struct Run {
    int first = 0, end = 0;
    bool operator==(const Run&) const = default;
  };
  [[nodiscard]] Bytes total_of_runs(std::size_t rank, std::span<const Run> runs) const;
  // The peak with most activations.
  [[nodiscard]] std::size_t fullest_peak(std::size_t rank) const;
  // What [first, end) as one of the rank's stages adds to it at one of its peaks, but for what it
  // works in. The sum over its stages, and the reserve, is no more than the rank's total.
  [[nodiscard]] Bytes added_at(std::size_t rank, std::size_t peak, std::size_t chunk,
                               Run run) const;
  // Where all sections but the first and the last hold the same or more: no more of those than this
  // fit on the rank beside what it must hold. Needs monotone memory.
  [[nodiscard]] int most_middle_sections(std::size_t rank, int stages_per_copy) const;
  // What a stage holds whatever its activations take: parameters, gradients, optimizer state and
  // the buffers of transfers, without the reserve.
  [[nodiscard]] Bytes for_the_step(int stage, int first, int end) const {
    return Bytes{state(first, end) + buffers(stage, first, end)};
  }
  // By how much the activations of a run are smaller in the short last micro-batch, and what that
  // saves where a stage holds so many.
  struct Less {
    std::int64_t stash = 0, weight_stash = 0;
  };
  [[nodiscard]] bool has_short_last() const { return last_.sums != nullptr; }
  [[nodiscard]] Less less_of_last(std::size_t rank, Run run) const;
  [[nodiscard]] std::int64_t saved_by_last(const Held& held, const Less& less) const;
  [[nodiscard]] const PerRank<Bytes>& capacity() const { return capacity_; }
  [[nodiscard]] std::span<const int> stages_of(std::size_t rank) const {
    return held_.stages_of(rank);
  }
  [[nodiscard]] int sections() const { return sums_[0].sections(); }
  [[nodiscard]] const HeldCounts& held() const { return held_; }
  [[nodiscard]] const SectionSums& sums_of_rank(std::size_t rank) const {
    return sums_[static_cast<int>(rank)];
  }
  // What a stage may take of its device, and what of that is reserved.
  [[nodiscard]] Bytes capacity_of(int stage) const { return capacity_[rank_of(stage)]; }
  [[nodiscard]] Bytes reserve_of(int stage) const { return reserve_[rank_of(stage)]; }

 private:
  // Every stage before this one and behind it has a section of its own.
  [[nodiscard]] bool could_get(int stage, int stages, const SectionSums::Distinct& section) const {
    return section.last >= stage && section.first <= stage + sums_[0].sections() - stages;
  }
  // What one section takes, but for the transfers.
  [[nodiscard]] std::int64_t section_alone(int stage, int section) const;
  [[nodiscard]] std::int64_t part_of(int stage, int parts) const {
    return (capacity_of(stage) - reserve_of(stage)).count / parts;
  }
  // The least that any section but the first and the last holds, for the step and of a micro-batch,
  // and the most that it saves by a short last one.
  struct LeastSection {
    const SectionSums* sums = nullptr;  // of which
    std::int64_t kept = 0, stash = 0, weight_stash = 0;
    Less less;
  };
  // Worked out once for ranks that are alike: it looks at all sections.
  [[nodiscard]] const LeastSection& least_section(std::size_t rank) const;
  [[nodiscard]] std::int64_t state(int first, int end) const;
  [[nodiscard]] std::int64_t state_of_alike(int first, int end) const;
  [[nodiscard]] std::int64_t sum_of_state(int first, int end) const;
  [[nodiscard]] std::int64_t peak(int stage, int first, int end) const;
  [[nodiscard]] std::int64_t fullest(std::size_t rank, std::span<const Run> runs) const;
  [[nodiscard]] std::int64_t activations(std::size_t rank, const Held& held, Run run) const;
  [[nodiscard]] std::int64_t buffers(int stage, int first, int end) const;
  // Any rank where all are alike.
  [[nodiscard]] int rank_of(int stage) const {
    return rank_of_stage_.empty() ? 0 : rank_of_stage_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] const SectionSums& sums_of(int stage) const { return sums_[rank_of(stage)]; }

  RankSums sums_;
  const TiedParameters& ties_;
  ShardedState state_;
  const HeldCounts& held_;
  PerRank<Bytes> reserve_, capacity_;
  ShortLast last_;
  std::vector<int> rank_of_stage_;  // where ranks differ
  bool monotone_;
  mutable std::vector<std::int64_t> states_;  // by first and end; less than 0: not known yet
  mutable LeastSection least_section_;        // of the rank that asked last
  // What was asked for last: stages have few lengths, and ask in turn.
  struct KnownState {
    HeldParameters parameters{-1, -1};
    std::int64_t bytes = 0;
  };
  static constexpr std::size_t kKnownStates = 16;
  mutable std::array<KnownState, kKnownStates> known_states_;  // by a hash of the parameters
  // Likewise, where layers are alike: of a run by its length and whether it has the first section
  // and the last.
  struct KnownLength {
    int key = -1;
    std::int64_t bytes = 0;
  };
  bool are_alike_;
  mutable std::array<KnownLength, 2 * kKnownStates> known_lengths_;
};

}  // namespace penstock
