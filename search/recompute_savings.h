// What a recompute mode may save on the ranks of a plan whose sections keep their activations, at
// its cuts, and what that takes: bounds, without choosing the sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/values/plan.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

class RecomputeSavings {
 public:
  // Keeps all of them by reference. `kept`: mode "none", `again`: the other one.
  RecomputeSavings(const RankSums& kept, const RankSums& again, const HeldCounts& held,
                   const Plan& plan, BackwardKind backward);

  // Of one micro-batch, without recompute.
  [[nodiscard]] std::int64_t work(std::size_t rank) const;
  // Forward of one micro-batch on the first stage of the rank.
  [[nodiscard]] std::int64_t fill(std::size_t rank) const;
  // What one micro-batch takes longer at least where the rank must hold so many bytes less: those
  // chunks recompute first of which it holds most. Nothing when all that they save is not enough.
  [[nodiscard]] std::optional<std::int64_t> least_ns(std::size_t rank, std::int64_t over) const;

 private:
  // Micro-batches of a chunk, and the bytes that each could save.
  using Chunk = std::pair<std::int64_t, std::int64_t>;

  [[nodiscard]] std::int64_t working(std::size_t rank) const;
  [[nodiscard]] std::vector<Chunk> fullest(std::size_t rank) const;

  const RankSums& kept_;
  const RankSums& again_;
  const HeldCounts& held_;
  const Plan& plan_;
  BackwardKind backward_;
  double ns_per_byte_ = std::numeric_limits<double>::infinity();  // of the section that is cheapest
};

}  // namespace penstock
