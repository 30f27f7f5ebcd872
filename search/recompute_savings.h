// What a recompute mode may save on the ranks of a plan whose sections keep their activations, at
// its cuts, and what that takes: bounds, without choosing the sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/values/plan.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

// What a byte less takes, of the section that is cheapest; infinity when none saves anything.
double least_ns_per_byte(const SectionSums& kept, const SectionSums& again, BackwardKind backward);

class RecomputeSavings {
 public:
  // Keeps all of them by reference. `kept`: mode "none", `again`: the other one. `ns_per_byte`:
  // least_ns_per_byte() of them.
  RecomputeSavings(const RankSums& kept, const RankSums& again, const HeldCounts& held,
                   const Plan& plan, BackwardKind backward, double ns_per_byte)
      : kept_(kept),
        again_(again),
        held_(held),
        plan_(plan),
        backward_(backward),
        ns_per_byte_(ns_per_byte) {}

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
  double ns_per_byte_;
};

}  // namespace penstock
