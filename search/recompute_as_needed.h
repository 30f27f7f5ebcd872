// How many sections of every stage must recompute so that all ranks fit: one mode for a whole plan
// leaves memory unused on every rank but the fullest (docs/search.md, "Recompute per stage").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/values/plan.h"
#include "core/values/units.h"
#include "costmodel/price_stages.h"
#include "search/memory.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

enum class RecomputeRule {
  kPerStage,   // any number of sections on each stage
  kOneNumber,  // one number of layers for all stages, as Megatron's "block" has it
};

// Whether the recompute of such a plan can be divided: not where a schedule recomputes by a rule of
// its own or is arranged by what its stages cost.
bool can_divide_recompute(const ScheduleKind& kind);

// Of full-size micro-batches: what the sections cost when they keep their activations, and when
// they use the mode.
struct RecomputeSums {
  RankSums kept, recomputed;
};

class RecomputeAsNeeded {
 public:
  // Keeps all of them by reference. `memory`: of the plan when no section recomputes.
  RecomputeAsNeeded(const RecomputeSums& sums, const StageMemory& memory, const HeldCounts& held,
                    const Plan& plan, BackwardKind backward, RecomputeRule rule);
  RecomputeAsNeeded(const RecomputeAsNeeded&) = delete;
  RecomputeAsNeeded& operator=(const RecomputeAsNeeded&) = delete;

  // Of every stage of a copy of the weights, under these cuts: how many of its sections, the first
  // ones, recompute. With one stage per rank the fewest that fit, so that no division is faster;
  // with several the least time per byte comes first. Nothing when no number that was tried fits.
  // `kept`: what every rank holds under these cuts when no section recomputes; empty: not known.
  [[nodiscard]] std::optional<std::vector<int>> sections(const std::vector<int>& cuts,
                                                         std::span<const Bytes> kept = {}) const;

  // Whether sections() finds numbers under these cuts, without finding them.
  [[nodiscard]] bool fits_somehow(const std::vector<int>& cuts,
                                  std::span<const Bytes> kept = {}) const;

  // What the fullest rank holds; and what it holds at least if every rank has to recompute one
  // section more, the one that saves most there.
  struct Fullest {
    Bytes now, with_one_more;
  };
  [[nodiscard]] Fullest fullest(const std::vector<int>& cuts, const std::vector<int>& counts) const;

  // One stage per rank: the cuts whose slowest stage, its recompute included, is fastest. Exact
  // where a stage that grows, at either end, gets no faster. Nothing when none fit. `kept`: the
  // best cuts if memory were no object.
  [[nodiscard]] std::optional<std::vector<int>> balanced_cuts(const std::vector<int>& kept) const;
  // Whether the slowest stage of those takes no longer than this. None fit: neither does any.
  enum class Within { kNoneFit, kNo, kYes };
  [[nodiscard]] Within balanced_within(Duration slowest) const;

 private:
  // Of one stage: [first, middle) recomputes, [middle, end) does not.
  struct Run {
    int first = 0, middle = 0, end = 0;
  };
  // Stages of a copy that must be looked at together, and the ranks that hold them: two copies of
  // the weights share theirs.
  struct Bundle {
    std::span<const int> stages;
    std::span<const std::size_t> ranks;
  };
  struct Reach;
  class StageRoom;
  struct Pass;
  class RankBytes;

  void bundle_ranks();
  void bundle_ranks_of_copies();

  [[nodiscard]] std::int64_t stash_of(int rank, const Run& run, bool of_weights) const;
  [[nodiscard]] std::int64_t working_of(int rank, const Run& run) const;
  [[nodiscard]] Bytes total(std::size_t rank, const std::vector<int>& cuts,
                            const std::vector<int>& counts) const;
  [[nodiscard]] bool fits(const Bundle& bundle, const std::vector<int>& cuts,
                          const std::vector<int>& counts) const;
  [[nodiscard]] std::optional<std::int64_t> bytes_that_fit(const Bundle& bundle,
                                                           const std::vector<int>& cuts,
                                                           const std::vector<int>& counts) const;
  [[nodiscard]] bool choose_most(const Bundle& bundle, const std::vector<int>& cuts,
                                 std::span<const Bytes> kept, std::vector<int>& counts) const;
  [[nodiscard]] bool fits_as_kept(const Bundle& bundle, std::span<const Bytes> kept) const;
  [[nodiscard]] bool choose_alone(const Bundle& bundle, const std::vector<int>& cuts,
                                  std::vector<int>& counts) const;
  void keep_by_gain_alone(std::size_t rank, const std::vector<int>& cuts,
                          std::vector<int>& counts) const;
  void keep_by_gain(const Bundle& bundle, const std::vector<int>& cuts,
                    std::vector<int>& counts) const;
  [[nodiscard]] std::optional<std::vector<int>> one_number(const std::vector<int>& cuts) const;
  [[nodiscard]] std::vector<int> counts_of_layers(const std::vector<int>& cuts, int layers) const;
  [[nodiscard]] bool is_changed(int section) const;
  // Of a micro-batch: the most that any section saves if it recomputes.
  struct Saved {
    std::int64_t stash = 0, weight_stash = 0;
  };
  [[nodiscard]] Saved most_of_a_section() const;
  [[nodiscard]] std::int64_t saved_by_one_more(std::size_t rank, const Saved& section,
                                               const std::vector<int>& cuts,
                                               const std::vector<int>& counts) const;
  // What the mode does not change counts as recomputed where all of the rest of its stage is.
  void round_up(const std::vector<int>& cuts, std::vector<int>& counts) const;

  // One stage per rank, from here on.
  [[nodiscard]] std::optional<int> fewest(int stage, int first, int end) const;
  [[nodiscard]] std::int64_t time(int stage, int first, int end) const;
  [[nodiscard]] Reach reach(int stage, int first, int most, std::int64_t bottleneck) const;
  [[nodiscard]] Pass run(std::int64_t bottleneck) const;
  [[nodiscard]] int furthest(int stage, int first, int most, int guess) const;
  [[nodiscard]] bool fits_with_some_cuts() const;
  [[nodiscard]] std::vector<int> earliest_cuts(std::int64_t bottleneck) const;

  const RecomputeSums& sums_;
  const StageMemory& memory_;
  const HeldCounts& held_;
  const Plan& plan_;
  BackwardKind backward_;
  RecomputeRule rule_;
  std::vector<Bundle> bundles_;     // of the two below, or of the stages that `held_` lists
  std::vector<std::size_t> ranks_;  // bundle by bundle
  std::vector<int> stages_;         // likewise, of two copies
};

}  // namespace penstock
