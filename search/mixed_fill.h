// What a step takes at least where ranks are on several device types: by the work of all ranks, and
// by what each waits for before its first action and after its last, whatever the cuts.
#pragma once

#include <cstdint>
#include <vector>

#include "search/candidates.h"
#include "search/section_sums.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

class MixedFill {
 public:
  // The sections on every type, of micro-batches of full size.
  MixedFill(const std::vector<const SectionSums*>& types, BackwardKind backward);

  // For so many ranks on each of the types, in this order along the pipeline. `and_drain`:
  // backwards are fused and no micro-batch is short, so that a rank's last action is followed by a
  // backward on every rank before it.
  [[nodiscard]] std::int64_t least(const std::vector<RankRun>& runs, std::int64_t micro_batches,
                                   bool and_drain) const;

  // What a rank with so many others before it waits for at least, ns.
  [[nodiscard]] const std::vector<std::int64_t>& waits(bool and_drain) const {
    return and_drain ? both_ways_ : forwards_;
  }

 private:
  [[nodiscard]] double least_by(std::size_t reference, const std::vector<RankRun>& runs,
                                std::int64_t micro_batches,
                                const std::vector<std::int64_t>& waits) const;

  std::vector<std::int64_t> work_;  // by type: of all sections
  // [reference][type]: how many times as fast as the reference at most, for one section.
  std::vector<std::vector<double>> speeds_;
  // Of the first sections, each on its fastest type.
  std::vector<std::int64_t> forwards_, both_ways_;
};

}  // namespace penstock
