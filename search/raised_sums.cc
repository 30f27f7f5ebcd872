#include "search/raised_sums.h"

#include <utility>

#include "costmodel/plan_sections.h"

namespace penstock {

RaisedSums::RaisedSums(const ModelProfile& profile, const Plan& plan, const RankSums& recomputed,
                       const RankSums& kept)
    : sums_(recomputed) {
  const int ranks = recomputed.is_one_for_all() && kept.is_one_for_all() ? 1 : plan.pipeline;
  std::vector<const SectionSums*> of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    const SectionSums& own = recomputed[rank];
    if (rank > 0 && &own == &recomputed[rank - 1] && &kept[rank] == &kept[rank - 1]) {
      of_rank.push_back(of_rank.back());
      continue;
    }
    of_rank.push_back(&own);
    if (!is_somewhere_faster(own.table, kept[rank].table)) continue;
    raised_.push_back(std::make_unique<const SectionSums>(sum_table(
        profile, plan.tensor, plan.other_degrees(), no_faster_than(own.table, kept[rank].table))));
    of_rank.back() = raised_.back().get();
  }
  if (raised_.empty()) return;
  sums_ = ranks == 1 ? RankSums(*of_rank.front()) : RankSums(std::move(of_rank));
}

}  // namespace penstock
