// What a step takes at least since no section is divided: some rank does one more than its share.
#pragma once

#include <cstdint>
#include <vector>

#include "search/candidates.h"
#include "search/section_sums.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

class WholeSections {
 public:
  // The sections on every type, of micro-batches of full size.
  WholeSections(const std::vector<const SectionSums*>& types, BackwardKind backward);

  // For so many ranks on each of the types, in this order along the pipeline. `waits`: what rank r
  // waits for at least before its first action and after its last, ascending, ns. `known`: what is
  // a bound anyway; the answer is no less.
  [[nodiscard]] std::int64_t least(const std::vector<RankRun>& runs, std::int64_t micro_batches,
                                   const std::vector<std::int64_t>& waits,
                                   std::int64_t known) const;

 private:
  // Of some of the sections.
  using Shortest = std::vector<std::vector<std::int64_t>>;  // [type][n]: work of the n shortest
  static std::int64_t least_of(const Shortest& shortest, const std::vector<RankRun>& runs,
                               std::int64_t micro_batches, const std::vector<std::int64_t>& waits,
                               std::int64_t known);

  std::vector<Shortest> parts_;
};

}  // namespace penstock
