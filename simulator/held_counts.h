// What the ranks and the stages of a schedule hold, whatever the bytes: liveness in a few flat
// arrays, since a search keeps thousands of them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/values/schedule.h"
#include "simulator/liveness.h"

namespace penstock {

// Activations held at one position of a list: forward done and I or B not; I done and W not.
struct Held {
  std::int32_t stash = 0, weight_stash = 0;
  auto operator<=>(const Held&) const = default;
};

// A replica's schedule, and which of its receives wait.
struct CountedReplica {
  const Schedule& schedule;
  const WaitingReceives& waiting;
};

class HeldCounts {
 public:
  HeldCounts() = default;
  // Not explicit: the same in another form, without peaks that are never the largest.
  HeldCounts(const std::vector<RankLiveness>& ranks);

  struct Transfers {
    std::int32_t activation_receives = 0, gradient_receives = 0;  // that wait at once
    std::int32_t activation_sends = 0, gradient_sends = 0;        // 1: it sends at all
    bool operator==(const Transfers&) const = default;
  };
  bool operator==(const HeldCounts&) const = default;

  [[nodiscard]] std::size_t ranks() const { return ranks_.size(); }
  [[nodiscard]] std::size_t stages() const { return stages_.size(); }
  // Of one rank: its stages, ascending; at how many positions its peak may lie, whatever the bytes
  // per activation; what each chunk holds there; which chunks run forward and backward together.
  [[nodiscard]] std::span<const int> stages_of(std::size_t rank) const {
    return {rank_stages_.data() + ranks_[rank].first_stage, ranks_[rank].chunks};
  }
  [[nodiscard]] std::size_t peaks(std::size_t rank) const { return ranks_[rank].peaks; }
  [[nodiscard]] std::span<const Held> peak(std::size_t rank, std::size_t index) const {
    const Rank& of = ranks_[rank];
    return {held_.data() + of.first_held + index * of.chunks, of.chunks};
  }
  [[nodiscard]] std::span<const std::pair<std::size_t, std::size_t>> overlaps(
      std::size_t rank) const {
    return {overlaps_.data() + ranks_[rank].first_overlap, ranks_[rank].overlaps};
  }
  // Of one stage by itself.
  [[nodiscard]] std::span<const Held> peaks_of_stage(int stage) const {
    const Stage& of = stages_[static_cast<std::size_t>(stage)];
    return {stage_peaks_.data() + of.first_peak, of.peaks};
  }
  // Most forwards of one stage whose backward is yet to come: exact in both kinds of counts, but of
  // a schedule that stands for another (held_as_in_lists) no fewer than in that one.
  [[nodiscard]] std::int32_t most_stash(int stage) const {
    return stages_[static_cast<std::size_t>(stage)].most_stash;
  }
  [[nodiscard]] const Transfers& transfers(int stage) const {
    return stages_[static_cast<std::size_t>(stage)].transfers;
  }

 private:
  friend HeldCounts least_held(const Schedule& schedule);
  friend HeldCounts exactly_held(std::span<const CountedReplica> replicas);
  struct Rank {
    std::size_t first_stage = 0, chunks = 0;
    std::size_t first_held = 0, peaks = 0;
    std::size_t first_overlap = 0, overlaps = 0;
    bool operator==(const Rank&) const = default;
  };
  struct Stage {
    Transfers transfers;
    std::size_t first_peak = 0, peaks = 0;
    std::int32_t most_stash = 0;
    bool operator==(const Stage&) const = default;
  };
  void begin_ranks(const std::vector<int>& rank_of_stage, std::size_t ranks);
  // Once the ranks are begun: which chunk of its rank each stage is.
  [[nodiscard]] std::vector<std::size_t> chunk_of_stage() const;
  // Rank by rank: its peaks, chunk by chunk, so many of them; then the other two.
  void add_peaks(std::size_t rank, std::span<const Held> held, std::size_t peaks);
  void add_overlaps(std::size_t rank,
                    std::span<const std::pair<std::size_t, std::size_t>> overlaps);
  void add_peaks_of_stages(std::size_t rank);
  // One wherever there is any.
  static Transfers any_transfers(const Schedule& schedule, int stage);

  std::vector<Rank> ranks_;
  std::vector<Stage> stages_;
  std::vector<int> rank_stages_;
  std::vector<Held> held_;         // of ranks: chunk by chunk, peak by peak
  std::vector<Held> stage_peaks_;  // of stages: each once, ascending
  std::vector<std::pair<std::size_t, std::size_t>> overlaps_;
};

// A lower bound that takes as long for a million micro-batches as for a hundred: per rank the
// position that holds most and the one with most stash, and one receive wherever there is any.
HeldCounts least_held(const Schedule& schedule);

// HeldCounts(liveness(schedule, waiting)), in a third of the time.
HeldCounts exactly_held(const Schedule& schedule, const WaitingReceives& waiting);
// Of replicas that differ in their number of micro-batches: the most that any of them holds
// (merge_liveness.h).
HeldCounts exactly_held(std::span<const CountedReplica> replicas);

}  // namespace penstock
